/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an operator can do about a layer that process mode could not have, with namespaces and
 * without. It depends on the error and on this machine's settings, which are read (a few files
 * below /proc/sys) to explain a failure, never to predict one. Any thread; in the gateway for its
 * own machine, in code-execute-worker for the worker's.
 */
#pragma once

#include "protocol/layers.h"

/* error_number: of the failure; 0: none is known. The text is static. */
const char *process_layer_remedy(enum isolation_layer layer, int error_number);
const char *unprivileged_layer_remedy(enum isolation_layer layer, int error_number);
