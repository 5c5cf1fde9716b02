/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tool's output: one table of its members, from which the manifest's output schema is made and
 * by which a built result can be checked. All members of an object are required, but for those that
 * are optional, and no others are there, but for maps and open objects. Pure code, any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "error.h"

/* X(constant, name, meaning) */
#define RESULT_STATUSES(X)                                                              \
    X(COMPLETED, "completed", "the program ended by itself, whatever its exit code")    \
    X(TIMEOUT, "timeout", "its time was up")                                            \
    X(KILLED, "killed", "a limit, a signal or a forbidden system call ended it")        \
    X(CANCELLED, "cancelled", "the host cancelled the call")                            \
    X(DENIED, "denied", "nothing ran: capability, policy or approver said no")          \
    X(PENDING, "pending", "nothing ran yet: the approval request waits for its answer") \
    X(ERROR, "error", "nothing ran, or how it ended is not known: see error")

enum result_status {
#define X(constant, name, meaning) RESULT_##constant,
    RESULT_STATUSES(X)
#undef X
        RESULT_STATUS_COUNT
};

/* status < RESULT_STATUS_COUNT */
const char *result_status_name(enum result_status status);

enum output_type {
    OUTPUT_STRING,
    OUTPUT_INTEGER,
    OUTPUT_BOOLEAN,
    OUTPUT_STRINGS,     /* array of strings */
    OUTPUT_INTEGER_MAP, /* object of integers, any names */
    OUTPUT_OBJECT,      /* members */
    OUTPUT_OPEN,        /* object with any members */
    OUTPUT_OPEN_ARRAY,  /* array of such */
};

struct output_member {
    const char *name; /* NULL ends a list */
    enum output_type type;
    bool nullable;
    const char *const *values;           /* of a string from a closed set, NULL-terminated */
    const struct output_member *members; /* of OUTPUT_OBJECT */
    const char *description;
    bool optional; /* left out where there is nothing to say */
};

/* The top level. */
const struct output_member *output_members(void);

/* A new reference, NULL when out of memory. */
json_t *output_schema(void);

/* Whether a result fits the table; false with error INTERNAL naming the place. */
bool output_check(json_t *result, struct error *error);
