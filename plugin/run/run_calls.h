/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of the gateway's tools that a program makes, as the loops around a run and a cell serve
 * them (run.c, session_run.c); tools/tool_calls.h has the other side. Their frames come with the
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
