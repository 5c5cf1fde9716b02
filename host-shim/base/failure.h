/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An error for the person at the terminal: a code that scripts can branch on, a message and a hint.
 * A function that can fail takes it as its last parameter, returns false and has then filled it; on
 * success it is untouched. Only main.c and the command files print it. Fixed buffers: reporting a
 * failure never allocates. Any thread; owned by the caller.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct failure {
    char code[64];
    char message[1024];
    char hint[512]; /* "" where there is none */
};

/* Each fills the failure and returns false, so that one can write: return failure_set(…). */
bool failure_set(struct failure *failure, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4), nonnull(1, 2, 3)));
/* The same with strerror(error_number) behind the message. */
bool failure_set_errno(struct failure *failure, const char *code, int error_number,
                       const char *format, ...)
    __attribute__((format(printf, 4, 5), nonnull(1, 2, 4)));
/* code "usage": the command line is wrong. */
bool failure_usage(struct failure *failure, const char *format, ...)
    __attribute__((format(printf, 2, 3), nonnull(1, 2)));
bool failure_is_usage(const struct failure *failure);
bool failure_out_of_memory(struct failure *failure);

/* Adds a hint to the failure, and returns false. */
bool failure_set_hint(struct failure *failure, const char *format, ...)
    __attribute__((format(printf, 2, 3), nonnull(1, 2)));

/* Takes over code, message and hint of a provider's "error" object, whatever of them is there;
 * returns false. */
bool failure_from_json(struct failure *failure, const json_t *error);
/* The "error" object {code, message, hint, retryable}; NULL when out of memory. */
json_t *failure_to_json(const struct failure *failure);

/* What a message adds to its code: without the code's own words at its beginning ("timeout: ..."),
 * for what shows the code in front of it. Part of the message. */
const char *failure_after_code(const char *code, const char *message);
