/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker from its start to its end: it tries its backend out, serves gateways, drains where it is
 * told to end (SIGTERM, SIGINT; a second one ends it at once), and reads its TLS files anew where
 * it is told to (SIGHUP). Runs in code-execute-worker, one thread.
 */
#pragma once

#include <stdbool.h>

#include "backends/worker/configuration.h"

/* Returns when it has ended. false: it could not start, and has said why on standard error. */
bool worker_serve(const struct worker_configuration *configuration);

/* Tries out all that it needs, and prints what is there and what is missing to standard output
 * (worker_check.c). false: something is missing. */
bool worker_check(const struct worker_configuration *configuration);
