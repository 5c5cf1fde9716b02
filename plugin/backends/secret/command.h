/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One command of a provider, from its start until nothing of it is left. Runs in the helper
 * program, which has a single thread and no other child.
 */
#pragma once

#include <stddef.h>

#include "protocol/secret_order.h"

/* Who may not outlive what: readable (control: has nothing more to say) when the gateway is gone.
 */
struct command_watch {
    int control;
    int host;
};

/* Runs it with /dev/null as input and error output. What it printed is in bytes[0..ret->length),
 * capacity is one byte more than a value and its line feed may have. */
void command_run(const struct secret_order *order, const struct command_watch *watch,
                 unsigned char *bytes, size_t capacity, struct secret_reply *ret);
