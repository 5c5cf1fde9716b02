/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One command of a secret provider, from its start until no process of it is left. Runs in the
 * helper program, which has a single thread and no other child.
 */
#pragma once

#include <stddef.h>

#include "protocol/orders/secret_order.h"

/* Both descriptors are readable when the gateway has gone, which the command must not outlive. */
struct command_watch {
    int control;
    int host;
};

/* Runs it with /dev/null as input and error output. Its output is in bytes[0..ret->length);
 * capacity is one byte more than the longest value with its line feed. */
void command_run(const struct secret_order *order, const struct command_watch *watch,
                 unsigned char *bytes, size_t capacity, struct secret_reply *ret);
