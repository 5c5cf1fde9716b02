/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call of a tool of the gateway's that a program has made, and what decides of it. Owned by the
 * run whose program it is (tool_calls.h); on the thread inside tool_invoke().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "approval/approval_decision.h"
#include "tools/tool_answer.h"
#include "tools/tool_definition.h"
#include "tools/tool_flow.h"
#include "json/canonical.h"

/* X(constant, name) - how it ended, as the result's "calls" and the audit name it. */
#define TOOL_CALL_STATUSES(X) \
    X(OK, "ok")               \
    X(ERROR, "error")         \
    X(DENIED, "denied")       \
    X(CANCELLED, "cancelled")

enum tool_call_status {
#define X(constant, name) TOOL_CALL_##constant,
    TOOL_CALL_STATUSES(X)
#undef X
        TOOL_CALL_STATUS_COUNT
};

enum tool_call_state {
    TOOL_CALL_WAITS, /* for its turn */
    TOOL_CALL_ASKED, /* an approver has its question */
    TOOL_CALL_OPEN,  /* the host has it */
};

struct tool_call {
    struct tool_call *next;
    enum tool_call_state state;
    uint32_t number;                    /* the program's, by which it knows the answer */
    uint64_t seq;                       /* ours: the first of a run is 1 */
    const struct tool_definition *tool; /* borrowed; NULL: there is none of that name */
    char name[TOOL_NAME_LIMIT + 1];
    char *arguments; /* the program's own bytes, with a NUL behind them */
    size_t arguments_length;
    char sha256[SHA256_HEX_LENGTH + 1]; /* "": it was refused unread */
    struct tool_flow_verdict flow;      /* when it was made */
    uint64_t begin_ms;                  /* on CLOCK_MONOTONIC, as is the deadline */
    uint64_t deadline_ms;
    uint64_t token;                     /* of the approval or of the host's answer */
    char approver[APPROVAL_TEXT_LIMIT]; /* "": nobody was asked */
    enum approval_answer decision;      /* the approver's, to this call or an earlier one */
    /* Once it has ended. */
    enum tool_call_status status;
    enum tool_error_code error; /* where the status is not OK */
    size_t answer_bytes;
    uint64_t duration_ms;
};

/* SHA-256 of run_id, seq and name, a line each, and the arguments. */
void tool_call_hash(struct tool_call *call, const char *run_id);
void tool_call_free(struct tool_call *call);
const char *tool_call_status_name(enum tool_call_status status);

/* What decides of calls; each gets user. */
struct tool_gate {
    /* May the host be asked for it? */
    bool (*grants)(void *user, const struct tool_definition *tool);
    /* Stores a record of the call: before the host gets it, and once more when it has ended. false:
     * it is not stored. */
    bool (*record)(void *user, const struct tool_call *call, bool has_ended);
    /* Asks an approver. As host_request_approval(). */
    uint32_t (*ask)(void *user, const struct tool_call *call, uint64_t expires_in_ms);
    /* Hands it to the host. As host_call_tool(). */
    uint32_t (*send)(void *user, const struct tool_call *call, uint64_t deadline_in_ms);
    /* The host's answer to it is not wanted any more. */
    void (*withdraw)(void *user, const struct tool_call *call);
    void *user;
};
