/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the events and orders between the plugin and a run's worker on the run's socket. A worker's
 * events are not trusted: each is decoded and encoded again, with the worker's name in it. Runs in
 * code-execute-remote.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "backends/common/run_answer.h"
#include "backends/remote/client/run_private.h"
#include "base/cleanup.h"

/* The limit of a worker's events ahead of STARTED, because each gives it more time. */
#define PROGRESS_MOST 20

static struct event_loop *loop_of(const struct run *run)
{
    return run->workers->context.loop;
}

/* Each socket is read only if the other one has taken the data read before. */
static void set_interest(struct run *run)
{
    if (run->outer.fd >= 0)
        (void)event_loop_change(loop_of(run), &run->outer,
                                (run->order_length == 0 && !run->over ? EPOLLIN : 0) |
                                    (run->event_length > 0 ? EPOLLOUT : 0));
    if (run->inner.fd >= 0)
        (void)event_loop_change(loop_of(run), &run->inner,
                                (run->event_length == 0 && !run->over ? EPOLLIN : 0) |
                                    (run->order_length > 0 ? EPOLLOUT : 0));
}

/* false: the socket has no room yet. */
static bool flush_event(struct run *run)
{
    if (run->event_length == 0)
        return true;
    ssize_t sent = send(run->outer.fd, run->event, run->event_length, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM || errno == EINTR))
        return false;
    run->event_length = 0; /* a plugin that is gone is noticed by the end of its socket */
    return true;
}

void run_tell(struct run *run, const struct run_event *event)
{
    if (!flush_event(run))
        return; /* of two waiting events the later one is dropped: the first is a progress event */
    run->event_length = run_event_encode(event, run->event);
    (void)flush_event(run);
    set_interest(run);
}

void run_finish(struct run *run, struct run_event *event)
{
    event->type = RUN_EVENT_ENDED;
    remote_details_write(&run->details, &event->details);
    run->over = true;
    run->ended = true;
    run->event_length = run_event_encode(event, run->event);
    if (flush_event(run))
        run_free(run);
    else
        set_interest(run); /* nothing more is read of the worker: see inner_ready() */
}

static void end_by_order(struct run *run, enum run_cause cause)
{
    struct run_event event = {.type = RUN_EVENT_ENDED, .cause = cause, .exit_code = -1};
    worker_withdraw(&run->assignment);
    run_finish(run, &event);
}

static void end_with_problem(struct run *run, enum error_code code, const char *message)
{
    struct run_event event = {.type = RUN_EVENT_ENDED};
    worker_withdraw(&run->assignment);
    run_event_fail(&event, RUN_FAILURE_BACKEND, 0, message);
    event.problem_code = code;
    (void)snprintf(event.remedy, sizeof(event.remedy), "%s", error_code_hint(code));
    run_finish(run, &event);
}

/* Tells the plugin that the program may have run, if it has had no event yet. */
static void end_as_lost(struct run *run)
{
    struct run_event event = {.type = RUN_EVENT_STARTED};
    bool begun = !run->lost || run->begun;
    worker_withdraw(&run->assignment);
    if (begun && !run->started && run->purpose == RUN_PURPOSE_PROGRAM) {
        remote_details_write(&run->details, &event.details);
        run_event_send(run->outer.fd, &event);
    }
    event = (struct run_event){.type = RUN_EVENT_ENDED};
    placing_lost(&run->details, begun,
                 run->lost ? run->why : "it has closed the run without a word of its end", &event);
    run_finish(run, &event);
}

/* The problems that a worker's backend can have. Any other would be about this gateway. */
static bool is_of_a_backend(uint32_t code)
{
    return code == ERROR_BACKEND_UNAVAILABLE || code == ERROR_BACKEND_FAILED ||
           code == ERROR_SANDBOX_UNAVAILABLE || code == ERROR_TOO_MANY_REQUESTS ||
           code == ERROR_NOT_SUPPORTED || code == ERROR_RUNTIME_NOT_FOUND;
}

/* People read it, on a terminal perhaps. C1 controls are two bytes of UTF-8. */
static void blank_controls(char *text)
{
    for (unsigned char *byte = (unsigned char *)text; *byte != '\0'; byte++) {
        bool is_c1 = byte[0] == 0xC2 && byte[1] >= 0x80 && byte[1] < 0xA0;
        if (is_c1)
            byte[1] = '?';
        if (is_c1 || *byte < ' ' || *byte == 0x7F)
            *byte = '?';
    }
}

static void judge_event(struct run *run, struct run_event *event)
{
    blank_controls(event->message);
    blank_controls(event->remedy);
    event->first_pid = 0;
    event->groups[0] = '\0';
    event->image_id[0] = '\0';
    remote_details_write(&run->details, &event->details);
    if (!is_of_a_backend(event->problem_code))
        event->problem_code = ERROR_BACKEND_FAILED;
    if (event->failure == RUN_FAILURE_IMAGE || event->failure == RUN_FAILURE_WORKSPACE ||
        event->failure == RUN_FAILURE_OTHER_WORKSPACE)
        event->failure = RUN_FAILURE_INTERNAL;
}

/* false: the run is over. */
static bool pass_event(struct run *run, const unsigned char *message, size_t length)
{
    struct run_event event;
    if (!run_event_decode(message, length, &event)) {
        end_with_problem(run, ERROR_BACKEND_FAILED, "the worker sent an unreadable message");
        return false;
    }
    judge_event(run, &event);
    if (event.type == RUN_EVENT_STARTED && (run->required & ~event.isolation.applied) != 0) {
        end_with_problem(run, ERROR_SANDBOX_UNAVAILABLE,
                         "the worker began the run without a layer that it must have");
        return false;
    }
    if (event.type == RUN_EVENT_PROGRESS && run->worker_progress++ >= PROGRESS_MOST)
        return true;
    run->started |= event.type == RUN_EVENT_STARTED;
    run->ended |= event.type == RUN_EVENT_ENDED;
    run->event_length = run_event_encode(&event, run->event);
    (void)flush_event(run);
    return true;
}

/* false: the run is over. */
static bool read_worker(struct run *run)
{
    unsigned char message[RUN_EVENT_MESSAGE_LIMIT];
    while (run->event_length == 0) {
        ssize_t length = channel_receive_now(run->inner.fd, message, sizeof(message));
        if (length < 0 && (errno == EAGAIN || errno == EINTR))
            return true;
        if (length == 0 || (length < 0 && errno != EMSGSIZE)) {
            if (!run->ended)
                end_as_lost(run);
            else
                run_free(run);
            return false;
        }
        if (length > 0 && run->ended)
            continue; /* nothing comes behind the end */
        if (!pass_event(run, message, length > 0 ? (size_t)length : 0))
            return false;
    }
    return true;
}

/* false: the socket has no room yet. */
static bool flush_order(struct run *run)
{
    if (run->order_length == 0)
        return true;
    if (channel_send(run->inner.fd, run->order, run->order_length, run->order_fds,
                     run->order_fd_count) != 0 &&
        (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM))
        return false;
    for (size_t i = 0; i < run->order_fd_count; i++)
        close_fd(run->order_fds[i]);
    run->order_fd_count = 0;
    run->order_length = 0;
    return true;
}

/* While no worker has it, only an end can be ordered. false: the run is over. */
static bool obey(struct run *run)
{
    bool ends = run->order[0] == RUN_ORDER_CANCEL || run->order[0] == RUN_ORDER_OUTPUT_LIMIT;
    enum run_cause cause =
        run->order[0] == RUN_ORDER_CANCEL ? RUN_CAUSE_CANCELLED : RUN_CAUSE_OUTPUT_LIMIT;
    ends = ends && run->order_length == 1;
    for (size_t i = 0; i < run->order_fd_count; i++)
        close_fd(run->order_fds[i]);
    run->order_fd_count = 0;
    run->order_length = 0;
    if (ends)
        end_by_order(run, cause);
    return !ends;
}

/* false: the run is over. */
static bool read_plugin(struct run *run)
{
    while (run->order_length == 0) {
        ssize_t length =
            channel_receive_fds_now(run->outer.fd, run->order, sizeof(run->order), run->order_fds,
                                    COUNT_OF(run->order_fds), &run->order_fd_count);
        if (length < 0 && (errno == EAGAIN || errno == EINTR))
            return true;
        if (length <= 0) { /* the plugin does not want it any more */
            run->order_fd_count = 0;
            run_free(run);
            return false;
        }
        run->order_length = (size_t)length;
        if (run->stage == RUN_PLACED)
            (void)flush_order(run);
        else if (!obey(run))
            return false;
    }
    return true;
}

static void outer_ready(struct watch *watch, uint32_t events)
{
    struct run *run = CONTAINER_OF(watch, struct run, outer);
    bool flushed = flush_event(run);
    if ((run->over && flushed) || (events & (EPOLLHUP | EPOLLERR)) != 0) {
        run_free(run);
        return;
    }
    if (!run->over && !read_plugin(run))
        return;
    set_interest(run);
}

static void inner_ready(struct watch *watch, uint32_t events __attribute__((unused)))
{
    struct run *run = CONTAINER_OF(watch, struct run, inner);
    (void)flush_order(run);
    if (run->over || !read_worker(run))
        return;
    set_interest(run);
}

bool run_watch_plugin(struct run *run)
{
    int fd = TAKE_FD(run->fds[RUN_FD_EVENTS]);
    run->outer = (struct watch){.fd = fd, .ready = outer_ready};
    return fcntl(fd, F_SETFL, O_NONBLOCK) == 0 &&
           event_loop_watch(loop_of(run), &run->outer, EPOLLIN) == 0;
}

bool run_watch_worker(struct run *run, int inner)
{
    run->inner = (struct watch){.fd = inner, .ready = inner_ready};
    return event_loop_watch(loop_of(run), &run->inner, EPOLLIN) == 0;
}
