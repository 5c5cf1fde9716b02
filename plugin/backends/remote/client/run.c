/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the path of a run to a worker: see run.h. Runs in code-execute-remote. */
#include "backends/remote/client/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "backends/common/run_answer.h"
#include "backends/remote/client/run_private.h"
#include "base/cleanup.h"

#define PROGRESS_MS 5000 /* well below the time that the plugin waits for an event */

static void place(struct run *run);

static void take_off_list(struct run *run)
{
    struct run **at = &run->workers->runs;
    while (*at != run)
        at = &(*at)->next;
    *at = run->next;
    run->workers->used_us = monotonic_us();
}

static void close_watched(struct run *run, struct watch *watch)
{
    int fd = watch->fd;
    event_loop_unwatch(run->workers->context.loop, watch);
    close_fd(fd);
}

void run_free(struct run *run)
{
    struct event_loop *loop = run->workers->context.loop;
    worker_withdraw(&run->assignment);
    event_loop_cancel(loop, &run->timer);
    event_loop_cancel(loop, &run->progress);
    close_watched(run, &run->outer);
    close_watched(run, &run->inner);
    for (size_t i = 0; i < run->order_fd_count; i++)
        close_fd(run->order_fds[i]);
    run_fds_close(run->fds);
    take_off_list(run);
    free(run);
}

static void try_next(struct run *run)
{
    run->stage = RUN_PLACING;
    event_loop_cancel(run->workers->context.loop, &run->timer);
    place(run);
}

static void offer_late(struct run *run)
{
    worker_withdraw(&run->assignment);
    placing_unanswered(&run->placing);
    try_next(run);
}

static void time_is_up(struct timer *timer)
{
    struct run *run = CONTAINER_OF(timer, struct run, timer);
    if (run->stage == RUN_OFFERED)
        offer_late(run);
    else
        place(run);
}

static void tell_progress(struct timer *timer)
{
    struct run *run = CONTAINER_OF(timer, struct run, progress);
    struct run_event event = {.type = RUN_EVENT_PROGRESS};
    (void)snprintf(event.message, sizeof(event.message),
                   "no worker has taken the run yet; still looking for one");
    event_loop_after(run->workers->context.loop, &run->progress, PROGRESS_MS);
    run_tell(run, &event);
}

static void fail(struct run *run)
{
    struct run_event event = {.type = RUN_EVENT_ENDED};
    char reasons[WORKERS_MESSAGE_LIMIT];
    size_t workers = workers_explain(run->workers, reasons);
    placing_fail(&run->placing, workers, reasons, &event);
    run_finish(run, &event);
}

static void wait_for_workers(struct run *run, size_t usable)
{
    uint64_t now = monotonic_us();
    uint64_t due = placing_deadline_us(&run->placing, usable);
    uint64_t room_end = run->placing.room_end_us;
    if (room_end > now && (due <= now || room_end < due))
        due = room_end;
    event_loop_after(run->workers->context.loop, &run->timer,
                     due > now ? (due - now) / 1000 + 1 : 0);
}

/* false: there is none to ask. */
static bool ask(struct run *run)
{
    struct worker *worker = workers_draw(run->workers, &run->placing);
    if (!worker)
        return false;
    placing_asked(&run->placing, worker->id);
    if (!worker_offer(worker, &run->offer, &run->assignment)) {
        placing_unanswered(&run->placing);
        return false;
    }
    worker_details(worker, &run->details);
    run->stage = RUN_OFFERED;
    event_loop_after(run->workers->context.loop, &run->timer, OFFER_LIMIT_US / 1000);
    return true;
}

static void place(struct run *run)
{
    while (run->stage == RUN_PLACING && !run->over) { /* its end may still wait for room */
        size_t usable;
        size_t connecting;
        workers_count(run->workers, &run->placing, &usable, &connecting);
        switch (placing_next(&run->placing, usable, connecting, monotonic_us())) {
        case PLACING_ASK:
            (void)ask(run);
            break;
        case PLACING_WAIT:
            wait_for_workers(run, usable);
            return;
        case PLACING_FAIL:
            fail(run);
            return;
        }
    }
}

/* From here on the run is sent, and no other worker is tried. */
static void send_to_worker(struct run *run)
{
    struct run_event event = {.type = RUN_EVENT_ENDED};
    int pair[2];
    run->stage = RUN_PLACED;
    event_loop_cancel(run->workers->context.loop, &run->timer);
    event_loop_cancel(run->workers->context.loop, &run->progress);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0) {
        run_event_fail(&event, RUN_FAILURE_INTERNAL, errno, "cannot create a socket for the run");
        run_finish(run, &event);
        return;
    }
    int fds[RUN_FD_COUNT];
    memcpy(fds, run->fds, sizeof(fds));
    fds[RUN_FD_EVENTS] = pair[1];
    for (int i = 0; i < RUN_FD_COUNT; i++)
        run->fds[i] = -1;
    bool watched = run_watch_worker(run, pair[0]);
    if (worker_send(&run->assignment, fds) && watched)
        return;
    placing_lost(&run->details, false, "the connection took it no more", &event);
    run_finish(run, &event);
}

static void answered(struct assignment *assignment, const struct remote_answer *answer)
{
    struct run *run = CONTAINER_OF(assignment, struct run, assignment);
    if (answer->verdict == REMOTE_ACCEPTED) {
        send_to_worker(run);
        return;
    }
    placing_declined(&run->placing, answer);
    try_next(run);
}

static void lost(struct assignment *assignment, bool begun, const char *why)
{
    struct run *run = CONTAINER_OF(assignment, struct run, assignment);
    if (run->stage == RUN_OFFERED) {
        placing_unanswered(&run->placing);
        try_next(run);
        return;
    }
    /* Events that the worker sent before are read first, up to the end of the inner socket. */
    run->lost = true;
    run->begun = begun;
    (void)snprintf(run->why, sizeof(run->why), "%s", why);
}

static void answer_sweep(const int fds[RUN_FD_COUNT])
{
    /* Workers sweep for themselves. */
    const struct run_event event = {.type = RUN_EVENT_ENDED, .cause = RUN_CAUSE_EXIT};
    run_event_send(fds[RUN_FD_EVENTS], &event);
    run_fds_close(fds);
}

void run_begin(struct workers *workers, const struct run_description *description,
               const int fds[RUN_FD_COUNT])
{
    if (description->purpose == RUN_PURPOSE_SWEEP) {
        answer_sweep(fds);
        return;
    }
    struct run *run = calloc(1, sizeof(*run));
    if (!run) {
        run_refuse(fds, ENOMEM, "no memory for the run");
        return;
    }
    memcpy(run->fds, fds, sizeof(run->fds));
    run->workers = workers;
    run->next = workers->runs;
    workers->runs = run;
    workers->used_us = monotonic_us();
    run->purpose = description->purpose;
    run->required = description->required;
    run->placing.begun_us = monotonic_us();
    run->placing.is_trial = description->purpose == RUN_PURPOSE_TRIAL;
    run->offer = (struct remote_offer){
        .purpose = description->purpose,
        .is_session = description->session.idle_ms > 0,
        .memory_bytes = description->limits.memory_bytes,
        .wall_ms = description->limits.wall_ms,
    };
    run->assignment.answered = answered;
    run->assignment.lost = lost;
    run->timer.fire = time_is_up;
    run->progress.fire = tell_progress;
    run->inner.fd = -1;
    if (!run_watch_plugin(run)) {
        run_free(run); /* the plugin sees that its socket is closed */
        return;
    }
    event_loop_after(workers->context.loop, &run->progress, PROGRESS_MS);
    place(run);
}

void runs_reconsider(struct workers *workers)
{
    for (struct run *run = workers->runs; run;) {
        struct run *next = run->next;
        if (run->stage == RUN_PLACING)
            place(run);
        run = next;
    }
}

void runs_hear_of_room(struct workers *workers, const struct worker *worker)
{
    for (struct run *run = workers->runs; run;) {
        struct run *next = run->next;
        bool is_asked_again = run->stage != RUN_PLACED &&
                              run->offer.memory_bytes <= worker->capacity.memory_free_bytes &&
                              placing_has_room(&run->placing, worker->id, monotonic_us());
        if (is_asked_again && run->stage == RUN_PLACING)
            place(run);
        run = next;
    }
}

void runs_abandon(struct workers *workers)
{
    while (workers->runs)
        run_free(workers->runs);
}
