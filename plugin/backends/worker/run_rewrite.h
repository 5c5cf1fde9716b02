/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns a gateway's description of a run into one for this machine. The worker's configuration
 * replaces the members that are the worker's to decide, and a run that this machine cannot do is
 * refused. The gateway is allowed to send runs; it is not trusted with the worker's machine. Pure
 * code; runs in code-execute-worker.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "backends/remote/link/remote_messages.h"
#include "backends/worker/configuration.h"
#include "base/error.h"

/* Replaces *bytes (of malloc(); the old ones are wiped and freed). false with the reason, which is
 * for the gateway's caller: *bytes is as it was. offer: what the run was admitted for. */
bool run_rewrite(const struct worker_configuration *configuration, const struct remote_offer *offer,
                 unsigned char **bytes, size_t *length, struct error *error);

/* The same for what a session is given later: a cell, a collection, a further interpreter, which
 * may have no more than the session was admitted for. */
bool run_rewrite_further(const struct worker_configuration *configuration,
                         const struct remote_offer *offer, unsigned char **bytes, size_t *length,
                         struct error *error);

/* A description that applies every layer of the mode, and runs nothing: new, of *ret_length bytes.
 * NULL with the error. */
unsigned char *run_trial_message(const struct worker_configuration *configuration,
                                 size_t *ret_length, struct error *error);
