/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cancels the running call when toolhost is asked to end. tool_invoke() blocks the main thread, so
 * a thread of toolhost's own waits for what the signal handler of SIGINT, SIGTERM and SIGHUP wrote
 * and calls tool_cancel(). Nothing is blocked, so the provider's children inherit a clean mask.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/failure.h"
#include "tool_provider.h"

struct signal_watch {
    bool started;
    pthread_t thread;
    tool_cancel_fn cancel;
    uint64_t call_id;
    int signal_fd;    /* readable: a signal has come */
    bool is_lent;     /* ... and the caller's, who watches for signals between calls as well */
    int stop_fd;      /* readable: the thread ends */
    int cancelled_fd; /* readable for good once a signal has come; approvers watch it as well */
};

/* Main thread. signal_fd: that of the caller's end_signal_watch(), or -1. With the caller's, SIGINT
 * cancels the call however often it comes, and ends nothing. The structure must stay where it is
 * until signal_watch_stop(). */
bool signal_watch_start(struct signal_watch *watch, tool_cancel_fn cancel, uint64_t call_id,
                        int signal_fd, struct failure *failure);
/* Whether a signal has come since the start. */
bool signal_watch_was_signalled(const struct signal_watch *watch);
/* Main thread. One that was not started (all zero) is fine. */
void signal_watch_stop(struct signal_watch *watch);
