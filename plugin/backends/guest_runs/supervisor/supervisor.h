/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of a backend whose programs have a guest: docker's, for one. Single-threaded. */
#pragma once

#include <stdbool.h>

#include "backends/guest_runs/container/container.h"

/* Serves runs until the control socket (BACKEND_CONTROL_FD) or the host ends, then removes the
 * containers of all of them. environment: all zero but for the provider, and what it needs. false
 * where it could not start. Once a process. */
bool supervisor_serve(struct guest_environment *environment, int host_pidfd);
