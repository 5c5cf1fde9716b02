/* SPDX-License-Identifier: Apache-2.0 */
/* The start of a session and of its further interpreters: see session_run.h. Runs in the gateway,
 * on the thread inside tool_invoke(). */
#include "run/session_run.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "protocol/session.h"
#include "run/session_orders.h"

#define SETUP_LIMIT_MS 20000

void session_run_close(struct session_run *session)
{
    backend_run_close(&session->backend);
    for (size_t i = 0; i < COUNT_OF(session->cells); i++)
        close_fd(TAKE_FD(session->cells[i]));
}

/* The description of the session itself; its lists are borrowed. */
static struct run_description without_cell(const struct run_description *cell,
                                           struct run_file *program, char **environment)
{
    struct run_description description = *cell;
    *program = cell->files[0];
    program->length = 0;
    description.files = program;
    description.file_count = 1;
    description.private_file_count = 0;
    description.environment = environment;
    description.results = 1;
    description.tools = 0;
    description.limits.wall_ms = 0;
    description.limits.cpu_ms = 0;
    description.outputs = (struct run_outputs){.files = 0};
    return description;
}

/* The first of the variables; the list is new, the strings are not. NULL: no memory. */
static char **first_variables(const struct run_description *cell)
{
    size_t count = cell->preparation.environment_count;
    char **list = calloc(count + 1, sizeof(*list));
    for (size_t i = 0; list && i < count; i++)
        list[i] = cell->environment[i];
    return list;
}

/* The pair of sockets for cells. */
static bool open_cells(int *ret_outer, int *ret_inner, struct error *error)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
        error_set_errno(error, ERROR_BACKEND_FAILED, errno,
                        "cannot create a socket for the session");
        return false;
    }
    *ret_outer = pair[0];
    *ret_inner = pair[1];
    /* Nothing is to come out of it: no byte and no descriptor. */
    if (shutdown(pair[1], SHUT_WR) == 0)
        return true;
    error_set_errno(error, ERROR_BACKEND_FAILED, errno, "cannot restrict the session's socket");
    return false;
}

bool session_run_start(enum sandbox_mode mode, const struct run_description *cell, int endpoints_fd,
                       int cancel_fd, struct session_run *ret, struct run_event *ret_failed,
                       struct error *error)
{
    CLEANUP(session_run_close) struct session_run session = SESSION_RUN_EMPTY;
    CLEANUP_CLOSE int inner = -1;
    CLEANUP_FREE char **environment = first_variables(cell);
    struct run_file program;
    session.mode = mode;
    *ret_failed = (struct run_event){.failure = RUN_FAILURE_NONE};
    if (!environment) {
        error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the session");
        return false;
    }
    const struct run_description description = without_cell(cell, &program, environment);
    if (!open_cells(&session.cells[0], &inner, error))
        return false;
    const struct run_input_fds inputs = {.stdin_fd = inner, .endpoints_fd = endpoints_fd};
    if (!backend_start_run(mode, &description, &inputs, &session.backend, error) ||
        !session_run_await(&session, RUN_EVENT_STARTED, cancel_fd, monotonic_ms() + SETUP_LIMIT_MS,
                           &session.started, error))
        return false;
    if (session.started.type != RUN_EVENT_STARTED) {
        *ret_failed = session.started;
        error_set(error, ERROR_BACKEND_FAILED, "the session ended as it started");
        return false;
    }
    close_fd(TAKE_FD(session.backend.results_fd));
    *ret = session;
    session = (struct session_run)SESSION_RUN_EMPTY;
    return true;
}

/* Nobody reads what its start prints. */
bool session_run_add(struct session_run *session, uint32_t number,
                     const struct run_description *cell, struct run_event *ret_failed,
                     struct error *error)
{
    const struct session_order order = {.kind = SESSION_ORDER_PROGRAM,
                                        .runner = cell->preparation.runner,
                                        .tool_command = cell->tool_command};
    CLEANUP(backend_run_close) struct backend_run streams = BACKEND_RUN_EMPTY;
    CLEANUP_CLOSE int outer = -1;
    CLEANUP_CLOSE int inner = -1;
    CLEANUP_FREE char **environment = first_variables(cell);
    struct run_file program;
    struct run_event event;
    *ret_failed = (struct run_event){.failure = RUN_FAILURE_NONE};
    if (!environment) {
        error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the interpreter");
        return false;
    }
    const struct run_description description = without_cell(cell, &program, environment);
    if (!open_cells(&outer, &inner, error) ||
        !backend_send_program(session->backend.events, &order, &description, inner, &streams,
                              error) ||
        !session_run_await(session, RUN_EVENT_PROGRAM, -1, monotonic_ms() + SETUP_LIMIT_MS, &event,
                           error))
        return false;
    if (event.type == RUN_EVENT_ENDED || event.failure != RUN_FAILURE_NONE) {
        *ret_failed = event;
        error_set(error, ERROR_BACKEND_FAILED, "the session ended as an interpreter started");
        return false;
    }
    session->cells[number] = TAKE_FD(outer);
    return true;
}
