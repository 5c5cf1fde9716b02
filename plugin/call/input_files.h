/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request's files by reference: which of the gateway's files they are, whether the policy has
 * room for them, and their descriptors. Their content never comes into the gateway's memory as a
 * whole. Owned by the thread inside tool_invoke().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "request/request.h"

struct call;

/* The descriptors, in the order of the request; -1 where one was given away. */
struct input_files {
    int fds[REQUEST_FILES_LIMIT];
    size_t count;
};

/* Finds each in the host's list, and takes name, size and, where it is there, the hash from it.
 * false with FILE_NOT_FOUND: the host has not listed it, and does not hear of it. */
bool input_files_find(struct call *call, struct error *error);

/* Weighs them against the policy and the run's memory. false with LIMIT_TOO_HIGH. */
bool input_files_fit(const struct call *call, struct error *error);

/* Opens each through the host and closes it again. One without a hash is hashed, and request and
 * description get the hash. false with FILE_NOT_FOUND, FILE_CHANGED, CANCELLED or OUT_OF_MEMORY. */
bool input_files_check(struct call *call, struct error *error);

/* Opens each through the host, for the run: call->inputs. false as input_files_check(). */
bool input_files_open(struct call *call, struct error *error);

void input_files_close(struct input_files *files);
