/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every backend program does first, and the control socket as every backend serves it: it is
 * greeted on, and brings runs and questions about the pool. Single-threaded.
 */
#pragma once

#include <stdbool.h>

#include "protocol/backend_parts.h"
#include "protocol/channel.h"
#include "protocol/pool_report.h"

/* Makes this a process that depends on nothing the host may do, is nobody's lasting child, and
 * knows its host by a pidfd. At the start of main(): leaves BACKEND_CONTROL_FD as the only
 * descriptor beyond standard error. Returns in the process that serves, with a pidfd of the host
 * (the caller's to close); -1 where the host has ended or the process could not be settled. */
int backend_enter(void);

struct control_handler {
    void (*start_run)(void *user, const int fds[RUN_FD_COUNT]); /* takes the descriptors */
    void (*count_pool)(void *user, struct pool_report *ret);
    /* backend_parts_encode() of what it works with. NULL: it has no parts. */
    size_t (*list_parts)(void *user, unsigned char message[BACKEND_PARTS_LIMIT]);
};

/* Tells the plugin that the backend is ready; 0, or -1 with errno. */
int control_greet(int control);

/* Serves one datagram. false: the plugin has closed its end. */
bool control_handle(int control, const struct control_handler *handler, void *user);
