/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The backend program of the worker's machine: the one that a gateway would start, with a control
 * socket of the worker's. It is started when it is needed, and again if it has ended. It ends with
 * the worker, however the worker ends. Runs in code-execute-worker. The start waits some
 * milliseconds for the program's greeting, and for nothing outside of the machine.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "backends/common/event_loop.h"
#include "base/error.h"
#include "program/backend_program.h"
#include "protocol/channel.h"

struct local_backend {
    struct event_loop *loop; /* borrowed */
    const char *name;        /* of the program; borrowed */
    struct backend_program program;
    struct watch watch; /* of its control socket */
    uint64_t starts;
    /* It has ended by itself, with all of its runs. May be NULL. */
    void (*ended)(void *user);
    void *user;
};

void local_backend_init(struct local_backend *backend, struct event_loop *loop, const char *name);
/* Hands a run over, which has its own socket from then on. The descriptors stay the caller's. false
 * with the error: the program does not start, or takes no more runs now. */
bool local_backend_start_run(struct local_backend *backend, const int fds[RUN_FD_COUNT],
                             struct error *error);
/* Ends it with all of its runs, and waits for that, for some seconds at most. */
void local_backend_stop(struct local_backend *backend);
