/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the trial of a worker's backend: see trial.h. */
#include "backends/worker/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "backends/common/run_answer.h"
#include "backends/process/messages/layer_remedies.h"
#include "backends/worker/run_rewrite.h"
#include "base/cleanup.h"
#include "protocol/layers.h"
#include "protocol/run_event.h"

#define TRIAL_TIMEOUT_MS 60000 /* the first one in docker mode makes an image */

static void forget(struct trial *trial)
{
    event_loop_cancel(trial->loop, &trial->time);
    int events = trial->events.fd;
    event_loop_unwatch(trial->loop, &trial->events);
    close_fd(events);
    close_fd(TAKE_FD(trial->outputs[0]));
    close_fd(TAKE_FD(trial->outputs[1]));
}

static void report(struct trial *trial, const struct error *error)
{
    forget(trial);
    trial->ended(trial->user, error);
}

const char *trial_layer_remedy(enum worker_mode mode, enum isolation_layer layer, int error_number)
{
    switch (mode) {
    case WORKER_PROCESS:
        return process_layer_remedy(layer, error_number);
    case WORKER_UNPRIVILEGED:
        return unprivileged_layer_remedy(layer, error_number);
    case WORKER_DOCKER:
        break;
    }
    return isolation_layer_remedy(layer);
}

static bool is_about_a_place(int error_number)
{
    return error_number == ENOENT || error_number == EACCES || error_number == EROFS ||
           error_number == ENOSPC;
}

static void explain(const struct trial *trial, const struct run_event *ended, struct error *error)
{
    enum isolation_layer layer = (enum isolation_layer)ended->failed_layer;
    enum worker_mode mode = (enum worker_mode)trial->configuration->mode;
    switch ((enum run_failure)ended->failure) {
    case RUN_FAILURE_LAYER:
        error_set_errno(error, ERROR_SANDBOX_UNAVAILABLE, ended->error_number,
                        "layer %s cannot be had%s%.200s", isolation_layer_name(layer),
                        ended->message[0] != '\0' ? ": " : "", ended->message);
        error_set_hint(error, "%s", trial_layer_remedy(mode, layer, ended->error_number));
        return;
    case RUN_FAILURE_BACKEND:
    case RUN_FAILURE_IMAGE:
        error_set(error, (enum error_code)ended->problem_code, "%.250s", ended->message);
        error_set_hint(error, "%s", ended->remedy);
        return;
    case RUN_FAILURE_RUNTIME_MISSING:
        error_set(error, ERROR_RUNTIME_NOT_FOUND, "%.100s is not in the view of programs",
                  ended->message);
        error_set_hint(error, "correct \"runtime_path\" and \"read_only\" of the configuration, or "
                              "the image");
        return;
    case RUN_FAILURE_NONE:
        error_set(error, ERROR_BACKEND_FAILED, "the trial did not end by itself: %s",
                  run_cause_name((enum run_cause)ended->cause));
        return;
    case RUN_FAILURE_WORKSPACE:
    case RUN_FAILURE_OTHER_WORKSPACE:
    case RUN_FAILURE_INPUT_FILE:
    case RUN_FAILURE_EXEC:
    case RUN_FAILURE_DESCRIPTION:
    case RUN_FAILURE_INTERNAL:
    case RUN_FAILURE_COUNT:
        break;
    }
    error_set_errno(error, ERROR_BACKEND_FAILED, ended->error_number, "the backend failed: %.200s",
                    ended->message);
    if (mode == WORKER_UNPRIVILEGED && is_about_a_place(ended->error_number))
        error_set_hint(error, "%s",
                       "runs need a directory that the worker may write: give it a "
                       "/tmp, or name another in \"process.scratch_directory\"");
}

static void on_event(struct watch *watch, uint32_t events)
{
    struct trial *trial = CONTAINER_OF(watch, struct trial, events);
    unsigned char message[RUN_EVENT_MESSAGE_LIMIT];
    struct run_event event;
    struct error error;
    (void)events;
    ssize_t length = channel_receive_now(watch->fd, message, sizeof(message));
    if (length < 0 && errno == EAGAIN)
        return;
    if (length <= 0 || !run_event_decode(message, (size_t)length, &event)) {
        error_set(&error, ERROR_BACKEND_FAILED, "the backend has ended during the trial");
        report(trial, &error);
        return;
    }
    if (event.type != RUN_EVENT_ENDED)
        return;
    trial->applied = event.isolation.applied;
    trial->missing = event.isolation.missing;
    trial->failed_layer = event.failure == RUN_FAILURE_LAYER ? event.failed_layer : LAYER_COUNT;
    if (event.failure == RUN_FAILURE_NONE && event.cause == RUN_CAUSE_EXIT) {
        report(trial, NULL);
        return;
    }
    explain(trial, &event, &error);
    report(trial, &error);
}

static void on_timeout(struct timer *timer)
{
    struct trial *trial = CONTAINER_OF(timer, struct trial, time);
    struct error error;
    error_set(&error, ERROR_BACKEND_FAILED, "the backend has not ended the trial in %d seconds",
              TRIAL_TIMEOUT_MS / 1000);
    report(trial, &error);
}

void trial_init(struct trial *trial)
{
    trial->events = (struct watch){-1, on_event};
    trial->time = (struct timer){.fire = on_timeout};
    trial->outputs[0] = trial->outputs[1] = -1;
    trial->failed_layer = LAYER_COUNT;
}

/* The write end; -1 with errno. */
static int make_output(int *ret_read)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    *ret_read = ends[0];
    return ends[1];
}

static int make_description(const struct worker_configuration *configuration, struct error *error)
{
    size_t length = 0;
    CLEANUP_FREE unsigned char *message = run_trial_message(configuration, &length, error);
    return message ? sealed_message_open("code-execute-run", message, length, error) : -1;
}

static bool hand_over(struct trial *trial, const int fds[RUN_FD_COUNT], int events,
                      struct error *error)
{
    if (!local_backend_start_run(trial->backend, fds, error))
        return false;
    trial->events.fd = events;
    if (event_loop_watch(trial->loop, &trial->events, EPOLLIN) == 0)
        return true;
    trial->events.fd = -1;
    error_set_errno(error, ERROR_BACKEND_FAILED, errno, "cannot watch the trial");
    return false;
}

static bool begin(struct trial *trial, struct error *error)
{
    int pair[2];
    CLEANUP_CLOSE int description = make_description(trial->configuration, error);
    if (description < 0)
        return false;
    CLEANUP_CLOSE int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    CLEANUP_CLOSE int out = make_output(&trial->outputs[0]);
    CLEANUP_CLOSE int err = make_output(&trial->outputs[1]);
    if (nowhere < 0 || out < 0 || err < 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0) {
        error_set_errno(error, ERROR_BACKEND_FAILED, errno, "no descriptors for the trial");
        return false;
    }
    CLEANUP_CLOSE int ours = pair[0];
    CLEANUP_CLOSE int theirs = pair[1];
    int fds[RUN_FD_COUNT];
    for (int i = 0; i < RUN_FD_COUNT; i++)
        fds[i] = nowhere;
    fds[RUN_FD_EVENTS] = theirs;
    fds[RUN_FD_DESCRIPTION] = description;
    fds[RUN_FD_STDOUT] = out;
    fds[RUN_FD_STDERR] = err;
    if (!hand_over(trial, fds, ours, error))
        return false;
    (void)TAKE_FD(ours);
    event_loop_after(trial->loop, &trial->time, TRIAL_TIMEOUT_MS);
    return true;
}

void trial_begin(struct trial *trial)
{
    struct error error;
    if (trial->events.fd < 0 && !begin(trial, &error))
        report(trial, &error);
}

void trial_clear(struct trial *trial)
{
    forget(trial);
}
