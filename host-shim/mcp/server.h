/* SPDX-License-Identifier: Apache-2.0 */
/*
 * toolhost as a server of the Model Context Protocol. The main thread reads what clients send and
 * answers what can be answered at once; each tool call has a thread of its own, of which there are
 * only so many; each client has one that writes.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/failure.h"
#include "host/provider.h"
#include "host/tool_call.h"
#include "options/options.h"

/* Serves until standard input ends or a signal comes, or with options->listen until a signal comes.
 * status (or NULL) is the provider's, out where standard output is now. */
bool server_run(const struct options *options, const struct provider *provider,
                const struct tool_grants *grants, json_t *context, const json_t *status, int out,
                struct failure *failure);
