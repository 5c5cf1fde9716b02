/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the life of the worker's backend program: see local_backend.h. */
#include "backends/worker/local_backend.h"

#include <errno.h>
#include <stddef.h>
#include <sys/epoll.h>

#include "base/cleanup.h"

/* All that a backend says on its control socket is its greeting. */
static void on_control(struct watch *watch, uint32_t events)
{
    struct local_backend *backend = CONTAINER_OF(watch, struct local_backend, watch);
    char byte;
    (void)events;
    ssize_t length = channel_receive_now(watch->fd, &byte, sizeof(byte));
    if (length > 0 || (length < 0 && errno == EAGAIN))
        return;
    event_loop_unwatch(backend->loop, watch);
    backend_program_forget_ended(&backend->program);
    /* A backend that has closed its socket and lives on is of no use. */
    backend_program_kill(&backend->program);
    if (backend->ended)
        backend->ended(backend->user);
}

void local_backend_init(struct local_backend *backend, struct event_loop *loop, const char *name)
{
    *backend = (struct local_backend){
        .loop = loop,
        .name = name,
        .program = BACKEND_PROGRAM_NONE,
        .watch = {-1, on_control},
    };
}

static bool ensure_started(struct local_backend *backend, struct error *error)
{
    if (backend_program_is_ours(&backend->program))
        return true;
    if (backend_program_start(backend->name, &backend->program, error) != 0)
        return false;
    backend->starts++;
    backend->watch.fd = backend->program.control;
    if (event_loop_watch(backend->loop, &backend->watch, EPOLLIN) == 0)
        return true;
    error_set_errno(error, ERROR_BACKEND_FAILED, errno, "cannot watch %s", backend->name);
    backend->watch.fd = -1;
    backend_program_kill(&backend->program);
    return false;
}

/* A backend that has ended since the last run is started once more. If it ends again, that is an
 * error. */
bool local_backend_start_run(struct local_backend *backend, const int fds[RUN_FD_COUNT],
                             struct error *error)
{
    const char order = CONTROL_RUN;
    for (int attempt = 0; attempt < 2; attempt++) {
        if (!ensure_started(backend, error))
            return false;
        if (channel_send(backend->program.control, &order, sizeof(order), fds, RUN_FD_COUNT) == 0)
            return true;
        if (errno == EAGAIN) {
            error_set(error, ERROR_TOO_MANY_REQUESTS,
                      "the worker's backend takes no more runs "
                      "now");
            return false;
        }
        if (errno != EPIPE && errno != ECONNRESET) {
            error_set_errno(error, ERROR_BACKEND_FAILED, errno,
                            "the worker's backend does not accept the run");
            return false;
        }
        event_loop_unwatch(backend->loop, &backend->watch);
        backend_program_forget_ended(&backend->program);
        backend_program_kill(&backend->program);
    }
    error_set(error, ERROR_BACKEND_FAILED, "the worker's backend exits as soon as it starts");
    return false;
}

void local_backend_stop(struct local_backend *backend)
{
    event_loop_unwatch(backend->loop, &backend->watch);
    backend_program_stop(&backend->program);
}
