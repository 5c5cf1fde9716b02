/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program of one thread waits for: descriptors (epoll) and times. A watch or a timer lies in
 * the structure that it belongs to, and may be removed at any time, also by another one's call.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct event_loop;

struct watch {
    int fd; /* borrowed; -1: not watched */
    void (*ready)(struct watch *watch, uint32_t events);
};

struct timer {
    uint64_t due_ms; /* CLOCK_MONOTONIC; 0: not set */
    void (*fire)(struct timer *timer);
    struct timer *next;
    struct timer *previous;
};

/* The structure around a member. */
#define CONTAINER_OF(pointer, type, member) \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

/* NULL with errno. */
struct event_loop *event_loop_new(void);
void event_loop_free(struct event_loop *loop);

/* events is a set of EPOLLIN and others, level-triggered; -1 with errno. */
int event_loop_watch(struct event_loop *loop, struct watch *watch, uint32_t events);
int event_loop_change(struct event_loop *loop, struct watch *watch, uint32_t events);
/* Before the descriptor is closed. Fine for one that is not watched. */
void event_loop_unwatch(struct event_loop *loop, struct watch *watch);

/* Sets or moves it; 0 milliseconds: at the next turn. */
void event_loop_after(struct event_loop *loop, struct timer *timer, uint64_t milliseconds);
void event_loop_cancel(struct event_loop *loop, struct timer *timer);

/* One turn: waits for at most that long (-1: until something is due), then calls what is ready.
 * -1 with errno where waiting failed. */
int event_loop_turn(struct event_loop *loop, int timeout_ms);
