/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A secret's value between its source and the run that needs it: in memory that is locked, left out
 * of core dumps and forks, and wiped. The host is asked first. If it has no secrets at all, or
 * answers that it does not have this one, the policy's providers are asked in their order. A denial
 * is final. Runs in the gateway, on the thread inside tool_invoke().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/locked_memory.h"
#include "tool_provider.h"

#define SECRET_VALUE_LIMIT (64u << 10)

struct secret_provider;

struct secret_value {
    struct locked_memory memory;
    size_t length;
};

/* The sources; all borrowed. */
struct secret_sources {
    const struct tool_host *host;
    const struct secret_provider *providers;
    size_t provider_count;
    int cancel_fd; /* readable: the call is cancelled; -1: cannot be */
};

/* true and *ret (secret_value_clear()), or false with UNKNOWN_SECRET, SECRET_TOO_LARGE, or an error
 * of secret_provider_read(). */
bool secret_value_read(const struct secret_sources *sources, const char *name,
                       struct secret_value *ret, struct error *error);

/* Wipes and unmaps; an empty one is fine. */
void secret_value_clear(struct secret_value *value);

enum secret_answer { SECRET_FOUND, SECRET_ABSENT, SECRET_FAILED };

/* For providers. A copy of a value that is somewhere else. */
enum secret_answer secret_value_copy(const char *name, const void *bytes, size_t length,
                                     struct secret_value *ret, struct error *error);
/* Hands the value of a file or command over, without one line feed at its end. */
enum secret_answer secret_value_take(const char *name, struct secret_value *value,
                                     struct secret_value *ret, struct error *error);
/* Memory for a value that is still to come; false with OUT_OF_MEMORY. */
bool secret_value_make(const char *name, size_t capacity, struct secret_value *ret,
                       struct error *error);
/* FAILED, with SECRET_TOO_LARGE. */
enum secret_answer secret_too_large(const char *name, struct error *error);
