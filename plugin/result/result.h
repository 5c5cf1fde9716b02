/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result: one JSON object that fits the manifest's output schema, whatever happened. Runs on
 * the thread inside tool_invoke().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "call/call.h"
#include "protocol/run_event.h"

#define RESULT_SIGNAL_SIZE 32

struct result_text {
    char *text; /* NULL: out of memory */
    size_t length;
};

/* The source of the members' values (result_members.c). */
struct result {
    const struct call *call;
    enum call_status status;
    enum run_cause cause;
    bool has_ended;            /* the program ran to an end, whichever; else error says why not */
    const struct error *error; /* the error of the result; NULL: the program ended by itself */
    bool has_met;              /* met is what the program met, though it may have gone on */
    struct error met;
    char signal[RESULT_SIGNAL_SIZE]; /* "": none ended it */
    struct result_text output, errors;
};

/* All but output and errors. refusal: NULL where the program ran to an end. call and refusal are
 * borrowed; *ret must stay where it is. */
void result_settle(const struct call *call, const struct error *refusal, struct result *ret);

/* The result as text, new; NULL when out of memory. refusal as for result_settle(). */
char *result_text(struct call *call, const struct error *refusal);
