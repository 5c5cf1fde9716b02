/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One tool_invoke() from its first byte to its result: everything that belongs to the call, filled
 * stage by stage (gate.h), read by the approval request, the audit records and the result. Owned by
 * the thread inside tool_invoke().
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "admission/admission.h"
#include "approval/approval.h"
#include "artifacts/artifact.h"
#include "base/error.h"
#include "call/call_registry.h"
#include "call/findings.h"
#include "call/input_files.h"
#include "call/workspace.h"
#include "endpoints/broker_client.h"
#include "endpoints/network_log.h"
#include "host/host.h"
#include "packages/package_set.h"
#include "policy/configuration.h"
#include "policy/narrowing.h"
#include "request/request.h"
#include "results/results.h"
#include "run/run.h"
#include "session/session.h"
#include "tool_provider.h"
#include "tools/tool_calls.h"
#include "json/canonical.h"
#include "json/json_text.h"

/* A file that the host can open, as it lists it. */
struct context_file {
    char *ref;
    char *name;
    uint64_t size;
    char *sha256; /* NULL: not said */
};

/* From the host's context_json: trusted, and never from the model. NULL: not given. */
struct call_context {
    char *principal;
    char *session;
    char *traceparent;
    char *workspace;
    struct narrowing narrowing; /* "policy" */
    struct context_file *files;
    size_t file_count;
    struct tool_list tools; /* that programs may call */
};

struct call {
    struct tool_host host;
    enum host_mistake host_mistake;
    struct call_context context;
    const char *tool; /* as called: a name of the manifest */
    char run_id[RUN_ID_LENGTH + 1];
    struct registered_call registration;
    struct admission admission;

    struct configuration configuration; /* policy NULL: not settled yet */
    bool parsed;                        /* request is filled */
    struct request request;
    const struct policy_language *language; /* the policy's way to run it */
    struct workspace workspace;             /* the directory that context.workspace names */
    struct policy_limits limits;            /* the language's, as far as the context leaves them */
    struct policy_transfers transfers;      /* the policy's, likewise */
    struct input_files inputs;              /* its files by reference, as far as they are open */
    struct run_description
        description; /* for the backend; has secrets only from collect_secrets on */

    char request_sha256[SHA256_HEX_LENGTH + 1]; /* "": not computed yet */
    struct content_findings content;
    struct approval_outcome approval;
    struct redaction *redaction; /* NULL: no secrets; a session's own where it has some */

    bool start_recorded; /* the audit has the start: it must get the end */
    bool executed;       /* run and outcome are filled */
    struct run run;
    struct run_outcome outcome;
    struct results results;
    const struct policy_endpoint *endpoints[REQUEST_ENDPOINTS_LIMIT]; /* of the configuration's
                                                                         policy: those that the
                                                                         request names */
    size_t endpoint_count;
    const struct policy_environment *environment; /* of the configuration's policy: whose packages
                                                     the run has; NULL: none */
    struct package_set packages;                  /* them; without a name: none */
    struct tool_list tools;         /* of context.tools: those that the request names */
    struct tool_calls tool_calls;   /* of its program */
    struct tool_flow tool_flow;     /* which of them it has called */
    struct broker_run broker_run;   /* of its endpoints, from deliver_endpoints() to its end; of a
                                       session until that has it */
    int cell_endpoints;             /* of a cell: what it may reach, sealed, until it begins; -1 */
    struct network_log network;     /* its program's requests to them */
    struct artifact_list artifacts; /* the files that it has left */
    struct session *session; /* whose cell it is; NULL: none, or one that is still to begin */
    struct cells_grant *cells_grant;  /* for its session (gate/cells_grant.h); NULL: none */
    struct cell_word word;            /* what the session's interpreter says of the cell */
    enum session_state session_state; /* behind the cell */
    struct run_stream late[2];        /* output that earlier cells have left behind */
    json_t *notes;                    /* array of strings */
};

/* tool, host and input are borrowed as in tool_invoke(). */
void call_init(struct call *call, const struct tool_host *host);
void call_clear(struct call *call);
/* Replaces the request that was read, of which nothing is left. Caller, policy and decision stay.
 */
void call_replace_request(struct call *call, struct request *request);

/* Adds a line to the result's notes; when out of memory, the note is lost and nothing else. */
void call_note(struct call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The names of the secrets that the program can read: the request's, and those of the session whose
 * cell it is. Borrowed; returns their number. */
size_t call_secrets(const struct call *call, const char *ret[REQUEST_SECRETS_LIMIT]);

/* The canonical text that the approval is bound to: everything that decides what runs. New, with
 * its length; NULL when out of memory. */
char *call_canonical_request(const struct call *call, size_t *ret_length);
/* Its SHA-256, of the call as it is at this moment; false when out of memory. */
bool call_hash_request(const struct call *call, char ret[SHA256_HEX_LENGTH + 1]);

struct call_limit {
    const char *name;
    uint64_t value;
};

/* Those in force, in the order of the policy's table; returns their number. */
size_t call_limits(const struct call *call, struct call_limit ret[POLICY_LIMITS_MOST]);
/* The member "limits": those in force, as result, audit and approval show them. */
void call_write_limits(struct json_draft *draft, const struct call *call);

/* Of the canonical request the members that an answer allow_cells is bound to: all that do not say
 * that they may differ from cell to cell. */
void call_write_bound_to_cells(struct json_draft *draft, const struct call *call);

/* The JSON that a content checker of the gateway's or of the operator's is asked with: everything
 * that is hashed, with the files' content, and the caller. New, with its length; NULL when out of
 * memory. */
char *call_content_question(const struct call *call, size_t *ret_length);

/* The answers that the call's policy lets an approver give: APPROVAL_ANSWER_BITs. With a workspace
 * there is none that holds for later identical calls. */
unsigned call_approval_answers(const struct call *call);
/* The JSON that the approver sees, new; NULL when out of memory. */
char *call_approval_request(const struct call *call, const char *approval_id);
