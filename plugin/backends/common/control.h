/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control socket as every backend serves it: it is greeted on, and brings runs and questions
 * about the pool. Runs in the supervisors, single-threaded.
 */
#pragma once

#include <stdbool.h>

#include "protocol/channel.h"
#include "protocol/pool_report.h"

struct control_handler {
    void (*start_run)(void *user, const int fds[RUN_FD_COUNT]); /* takes the descriptors */
    void (*count_pool)(void *user, struct pool_report *ret);
};

/* Tells the plugin that the backend is ready; 0, or -1 with errno. */
int control_greet(int control);

/* Serves one datagram. false: the plugin has closed its end. */
bool control_handle(int control, const struct control_handler *handler, void *user);
