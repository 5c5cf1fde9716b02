/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host under the control of a case: it grants what the case says and records what the provider
 * does. One thread uses one probe.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "conformance/conformance_case.h"
#include "conformance/probe_files.h"
#include "conformance/probe_tools.h"
#include "tool_provider.h"

/* The callbacks without which nothing may run. */
enum grant { GRANT_CAPABILITY, GRANT_APPROVAL, GRANT_AUDIT, GRANT_COUNT };

#define PROBE_OUTPUT_LIMIT 65536u

/* The probe's secret is this text, repeated. A record of the host with one copy of it is a leak. */
#define PROBE_SECRET        "7d1f-conformance-secret;"
#define PROBE_SECRET_LENGTH (sizeof(PROBE_SECRET) - 1)

/* The behaviour of read_secret. */
struct probe_host_secret {
    size_t reported[2]; /* the length given by the first call and by each further one; it bounds the
                           copy */
    uint32_t verdict;
    bool silent;     /* writes no verdict */
    unsigned asked;  /* calls of it so far */
    size_t capacity; /* of the last one */
    bool seen;       /* the secret was in a record, a request for approval, or a line of the log */
};

/* The return of one call. */
struct outcome {
    int32_t code;
    char *text; /* new; NULL where the provider set none */
    json_t *result;
};

struct probe_host {
    struct tool_host host;
    struct conformance *conformance;
    pthread_t caller;
    atomic_bool inside;       /* tool_invoke() is under way */
    atomic_bool wrong_moment; /* a callback came on another thread or outside the call */
    unsigned asked[GRANT_COUNT];
    bool silent[GRANT_COUNT]; /* the callback writes nothing */
    uint32_t verdict[GRANT_COUNT];
    struct probe_host_secret secret;
    struct probe_open opened;  /* what open_file does, and has done */
    struct probe_store stored; /* the same of store_file */
    struct probe_tools tools;  /* the same of call_tool */
    bool cancels_called;       /* call_tool cancels the run from inside */
    struct probe_host *inner;  /* or calls the provider by this one, which is borrowed; or NULL */
    const char *reply;         /* a decision that request_approval gives from inside; or NULL */
    int32_t reply_codes[2];    /* of the first and the second reply */
    bool cancels;              /* request_approval cancels the call from inside */
    _Atomic uint64_t token;    /* of the last request for approval; 0: none came */
    struct outcome outcome;    /* of the last call */
    size_t output_length;      /* of stdout and stderr as they came */
    char output[PROBE_OUTPUT_LIMIT];
};

/* A probe that grants everything, for the provider of the conformance. NULL when out of memory. */
struct probe_host *probe_host_new(struct conformance *conformance);
/* Makes the probe as good as new: it grants everything, and nothing was recorded. */
void probe_host_reset(struct probe_host *probe);
void probe_host_free(struct probe_host **probe);

/* Calls the provider and keeps the outcome; host may be another than the probe's, or NULL. */
void probe_host_invoke(struct probe_host *probe, const struct tool_host *host, const char *tool,
                       const char *input);
/* The same for the tool of the conformance, with the probe's host: an input; a good input. */
void probe_host_invoke_input(struct probe_host *probe, const char *input);
void probe_host_invoke_good(struct probe_host *probe);

/* Whether a call with everything granted runs here; false fills the remark with why not. */
bool probe_host_can_run(struct probe_host *probe);

/* Whether the provider asks for it: it may have rules that need no approval, and tools that need no
 * capability. */
bool probe_host_grant_matters(struct probe_host *probe, enum grant grant);

/* Judge the last call; when: its circumstances, for the remark. Passed when nothing ran and the
 * provider said so as the ABI wants it. */
enum case_result probe_host_expect_nothing_ran(struct probe_host *probe, const char *when);
/* Passed when the tool ran and, where a marker can tell, has printed it. */
enum case_result probe_host_expect_ran(struct probe_host *probe, const char *when);
/* Passed when the result has this status. */
enum case_result probe_host_expect_status(struct probe_host *probe, const char *status);

/* The call with a good input, and its judgement. */
enum case_result probe_host_good_is_denied(struct probe_host *probe, const char *when);
enum case_result probe_host_good_runs(struct probe_host *probe, const char *when);
