/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The run loop: hands one run to its backend, drains its output, keeps its deadline, carries a
 * cancellation, and returns when the backend says that the whole tree is dead. Runs on the thread
 * inside tool_invoke() (or tool_status(), for a trial); everything it holds belongs to that call.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "policy/policy.h"
#include "protocol/run_description.h"
#include "protocol/run_event.h"
#include "redaction/redaction.h"
#include "run/file_stream.h"
#include "run/frame_reader.h"
#include "run/output_capture.h"
#include "run/run_calls.h"
#include "tool_provider.h"

/* One of the two output streams on its way: pipe -> redaction -> capture and the host's on_output.
 */
struct run_stream {
    uint32_t id; /* TOOL_STREAM_STDOUT or TOOL_STREAM_STDERR */
    struct redaction_stream redaction;
    struct output_capture capture;
    const struct tool_host *host; /* borrowed */
    bool mute; /* the host is told nothing of it: what runs is no program of the caller's */
};

void run_stream_clear(struct run_stream *stream);

struct run {
    enum sandbox_mode mode;
    const struct run_description *description; /* borrowed */
    struct run_description *spent; /* the same, whose program is wiped once the backend has it;
                                      NULL: it is kept */
    int stdin_fd;                  /* borrowed */
    int *input_fds; /* of the files by reference, in their order; closed, and then -1,
                       once the backend has them */
    size_t input_count;
    int endpoints_fd; /* RUN_FD_ENDPOINTS; closed, and then -1, once the backend has it; -1: none */
    int cancel_fd;    /* borrowed; -1: cannot be cancelled */
    uint64_t output_limit; /* bytes of all streams together; more ends the run */
    struct run_stream output;
    struct run_stream errors;
    struct frame_reader results;   /* where the description has results: what they are read by */
    struct file_stream files;      /* fd is the loop's */
    const struct run_calls *calls; /* borrowed; NULL: the program has no tools */
};

struct run_outcome {
    bool started; /* the program ran, if only for an instant */
    struct run_event ended;
    uint64_t duration_ms; /* from the hand-over to the end */
};

/* true and *ret: the backend reported the end, also of a run that could not start (ended.failure).
 * false with error BACKEND_UNAVAILABLE or BACKEND_FAILED: the backend could not be had, died or
 * fell silent; what was printed until then is in the captures, and nothing of the run is left (its
 * socket is closed). */
bool run_execute(struct run *run, struct run_outcome *ret, struct error *error);

void run_clear(struct run *run);

/* A standard input that needs no writer: a sealed memory file of the text, so that no SIGPIPE can
 * come of it; /dev/null where text is NULL. -1 with INTERNAL. Any thread. */
int program_input_open(const char *text, size_t length, struct error *error);
