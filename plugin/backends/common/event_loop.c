/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the epoll descriptor and the list of timers: see event_loop.h. */
#include "backends/common/event_loop.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/deadline.h"

#define BATCH 64

struct event_loop {
    int epoll;
    struct timer *timers; /* no order: there are few */
    /* Of the turn under way. */
    struct epoll_event batch[BATCH];
    int batch_count;
};

struct event_loop *event_loop_new(void)
{
    CLEANUP_FREE struct event_loop *loop = calloc(1, sizeof(*loop));
    if (!loop)
        return NULL;
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    return loop->epoll < 0 ? NULL : TAKE_POINTER(loop);
}

void event_loop_free(struct event_loop *loop)
{
    if (loop)
        close_fd(loop->epoll);
    free(loop);
}

static int control(struct event_loop *loop, int operation, struct watch *watch, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = watch};
    return epoll_ctl(loop->epoll, operation, watch->fd, &event);
}

int event_loop_watch(struct event_loop *loop, struct watch *watch, uint32_t events)
{
    return control(loop, EPOLL_CTL_ADD, watch, events);
}

int event_loop_change(struct event_loop *loop, struct watch *watch, uint32_t events)
{
    return control(loop, EPOLL_CTL_MOD, watch, events);
}

void event_loop_unwatch(struct event_loop *loop, struct watch *watch)
{
    if (watch->fd >= 0)
        (void)control(loop, EPOLL_CTL_DEL, watch, 0);
    watch->fd = -1;
    for (int i = 0; i < loop->batch_count; i++)
        if (loop->batch[i].data.ptr == watch)
            loop->batch[i].data.ptr = NULL;
}

void event_loop_cancel(struct event_loop *loop, struct timer *timer)
{
    if (timer->due_ms == 0)
        return;
    if (timer->previous)
        timer->previous->next = timer->next;
    else
        loop->timers = timer->next;
    if (timer->next)
        timer->next->previous = timer->previous;
    timer->next = timer->previous = NULL;
    timer->due_ms = 0;
}

void event_loop_after(struct event_loop *loop, struct timer *timer, uint64_t milliseconds)
{
    event_loop_cancel(loop, timer);
    timer->due_ms = monotonic_ms() + milliseconds;
    timer->next = loop->timers;
    if (loop->timers)
        loop->timers->previous = timer;
    loop->timers = timer;
}

static int time_to_wait(const struct event_loop *loop, int timeout_ms)
{
    uint64_t first = UINT64_MAX;
    for (const struct timer *timer = loop->timers; timer; timer = timer->next)
        if (timer->due_ms < first)
            first = timer->due_ms;
    if (first == UINT64_MAX)
        return timeout_ms;
    uint64_t now = monotonic_ms();
    uint64_t left = first > now ? first - now : 0;
    if (timeout_ms >= 0 && (uint64_t)timeout_ms < left)
        return timeout_ms;
    return left > INT_MAX ? INT_MAX : (int)left;
}

/* One that is due; a call may set or cancel any, so the list is looked at anew each time. One that
 * was set for "at once" in this turn has to wait for the next, by the time that the turn began. */
static struct timer *due_timer(const struct event_loop *loop, uint64_t now)
{
    for (struct timer *timer = loop->timers; timer; timer = timer->next)
        if (timer->due_ms <= now)
            return timer;
    return NULL;
}

int event_loop_turn(struct event_loop *loop, int timeout_ms)
{
    int count = epoll_wait(loop->epoll, loop->batch, BATCH, time_to_wait(loop, timeout_ms));
    if (count < 0)
        return errno == EINTR ? 0 : -1;
    loop->batch_count = count;
    for (int i = 0; i < count; i++) {
        struct watch *watch = loop->batch[i].data.ptr;
        if (watch)
            watch->ready(watch, loop->batch[i].events);
    }
    loop->batch_count = 0;
    uint64_t now = monotonic_ms();
    for (int calls = 0; calls < BATCH; calls++) {
        struct timer *timer = due_timer(loop, now);
        if (!timer)
            break;
        event_loop_cancel(loop, timer);
        timer->fire(timer);
    }
    return 0;
}
