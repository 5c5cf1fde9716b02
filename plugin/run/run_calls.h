/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of the gateway's tools that a program makes, as the loops around a run and a cell serve
 * them (run.c, cell_loop.c); tools/tool_calls.h has the other side. Their frames come with the
 * program's results. Runs on the thread inside tool_invoke().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct run_calls {
    int wake_fd; /* readable: an answer of the host's has arrived */
    void *user;
    /* Is there something to write to the program? */
    bool (*has_output)(void *user);
    /* When serve() is due in any case, on CLOCK_MONOTONIC; UINT64_MAX: it is not. */
    uint64_t (*due_ms)(void *user);
    /* Is a call open for so long that the program's wall time is not to count it? */
    bool (*is_waiting)(void *user);
    /* Takes what has arrived, ends what has had its time, begins what waited, and writes to answers
     * (a socket, not closed) without waiting. false: an approver has ended the run. */
    bool (*serve)(void *user, int answers);
    /* Cancels all calls, and refuses those that still come; a program that lives on is told so by
     * serve(). */
    void (*stop)(void *user);
};

/* One loop's serving of them. All zero but for calls is the beginning. */
struct call_service {
    const struct run_calls *calls; /* borrowed; NULL: the program has no tools */
    uint64_t held_ms;              /* until then the program gets no answers */
    bool told_waiting;             /* the backend: for answers of tools */
    bool waited;                   /* once at least */
};

/* For poll(): readable when serving is due; -1: the program has no tools. */
int call_service_wake_fd(const struct call_service *service);
/* For poll(): answers (a socket, or -1) where there is something to write to it, else -1. */
int call_service_writable_fd(const struct call_service *service, int answers);
/* When serving is due in any case, on CLOCK_MONOTONIC; UINT64_MAX: it is not. */
uint64_t call_service_due_ms(const struct call_service *service);
/* Serves them, also where nothing has arrived: a call may have come with the results. false: an
 * approver has ended the run. */
bool call_service_serve(struct call_service *service, int answers);
/* Tells the backend over events whether the program waits for answers, where that has changed. The
 * backend knows how much of the wait the program's own computing is. The first wait moves the
 * loop's deadline (UINT64_MAX: none) by the whole limit, as it is only a bound. */
void call_service_tell_waiting(struct call_service *service, int events, uint64_t wait_limit_ms,
                               uint64_t *deadline_ms);
void call_service_stop(struct call_service *service);
