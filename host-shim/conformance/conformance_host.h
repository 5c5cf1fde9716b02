/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The witness: a host that grants what a case says and writes down what the provider did with it.
 * One thread uses one witness.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "conformance/conformance_case.h"
#include "tool_provider.h"

/* The callbacks without which nothing may run. */
enum grant { GRANT_CAPABILITY, GRANT_APPROVAL, GRANT_AUDIT, GRANT_COUNT };

#define WITNESS_OUTPUT_LIMIT 65536u

/* Repeated, it is the witness's secret; what of the host's records holds it once is a leak. */
#define WITNESS_SECRET        "7d1f-conformance-secret;"
#define WITNESS_SECRET_LENGTH (sizeof(WITNESS_SECRET) - 1)

/* What read_secret does. */
struct witness_secret {
    size_t
        told[2]; /* the length that the first and every further call says; at most that is copied */
    uint32_t verdict;
    bool silent;     /* writes no verdict */
    unsigned asked;  /* calls of it so far */
    size_t capacity; /* of the last one */
    bool seen;       /* the secret was in a record, a request for approval, or a line of the log */
};

struct witness {
    struct tool_host host;
    const struct provider *provider;
    pthread_t caller;
    atomic_bool inside;       /* tool_invoke() is under way */
    atomic_bool wrong_moment; /* a callback came on another thread or outside the call */
    unsigned asked[GRANT_COUNT];
    bool silent[GRANT_COUNT]; /* the callback writes nothing */
    uint32_t verdict[GRANT_COUNT];
    struct witness_secret secret;
    const char *reply;      /* a decision that request_approval gives from inside; or NULL */
    int32_t reply_codes[2]; /* what the first and the second reply returned */
    bool cancels;           /* request_approval cancels the call from inside */
    _Atomic uint64_t token; /* of the last request for approval; 0: none came */
    size_t output_length;   /* of stdout and stderr as they came */
    char output[WITNESS_OUTPUT_LIMIT];
};

/* What came back from one call. */
struct outcome {
    int32_t code;
    char *text; /* new; NULL where the provider set none */
    json_t *result;
};

/* A witness that grants everything; free() it. NULL when out of memory. */
struct witness *witness_new(const struct conformance *conformance);

/* Calls the provider; host may be another one than the witness's (or NULL), witness may be NULL.
 */
void witness_invoke(const struct conformance *conformance, struct witness *witness,
                    const struct tool_host *host, const char *tool, const char *input,
                    struct outcome *ret);
void outcome_clear(struct outcome *outcome);

/* A call with a good input under the given host. */
void witness_invoke_good(const struct conformance *conformance, struct witness *witness,
                         const struct tool_host *host, struct outcome *ret);

/* Whether a call with everything granted runs here; false fills the remark with why not. */
bool witness_can_run(struct conformance *conformance);

/* Whether the provider asks for it: it may have rules that need no approval, and tools that need no
 * capability. */
bool witness_grant_matters(struct conformance *conformance, enum grant grant);

/* Passed when nothing ran and the provider said so as the ABI wants it. */
enum case_result witness_expect_nothing_ran(struct conformance *conformance,
                                            const struct witness *witness,
                                            const struct outcome *outcome, const char *when);
/* Passed when the tool ran and, where a marker can tell, has printed it. */
enum case_result witness_expect_ran(struct conformance *conformance, const struct outcome *outcome,
                                    const char *when);
