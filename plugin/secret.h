/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A secret's value between the host that knows it and the run that needs it: in memory that is
 * locked, left out of core dumps and forks, and wiped. Runs in the gateway, on the thread inside
 * tool_invoke().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "error.h"
#include "locked_memory.h"
#include "tool_provider.h"

#define SECRET_VALUE_LIMIT (64u << 10)

struct secret_value {
    struct locked_memory memory;
    size_t length;
};

/* Asks the host for the named secret. true and *ret (secret_value_clear()), or false with
 * UNKNOWN_SECRET, or INVALID_INPUT where the value cannot be an environment variable (a NUL inside,
 * longer than SECRET_VALUE_LIMIT). */
bool secret_value_read(const struct tool_host *host, const char *name, struct secret_value *ret,
                       struct error *error);

/* Wipes and unmaps; an empty one is fine. */
void secret_value_clear(struct secret_value *value);
