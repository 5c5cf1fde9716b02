/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a run, for run.c and run_events.c. */
#pragma once

#include "backends/remote/client/run.h"

#define RUN_ORDER_LIMIT 8192 /* bytes of a datagram from the plugin */
#define RUN_ORDER_FDS   16

enum run_stage {
    RUN_PLACING, /* no worker has it */
    RUN_OFFERED, /* one is asked */
    RUN_PLACED,  /* it was sent to one */
};

struct run {
    struct run *next;
    struct workers *workers;
    enum run_stage stage;
    uint32_t purpose;
    uint64_t required; /* LAYER_BITs */
    struct placing placing;
    struct remote_offer offer;
    struct assignment assignment;
    struct timer timer;    /* of the stage */
    struct timer progress; /* until it is placed */
    struct remote_details details;
    int fds[RUN_FD_COUNT]; /* until it is placed; -1 then */
    /* The socket to the plugin and the one to the connection, from RUN_PLACED on. */
    struct watch outer;
    struct watch inner;
    unsigned worker_progress; /* how often it has said that it goes on */
    bool started;             /* STARTED has gone to the plugin */
    bool ended;               /* ENDED has */
    bool over;                /* freed as soon as nothing is pending */
    bool lost;                /* the connection to the worker is gone */
    bool begun;               /* and the run was on its way */
    char why[256];
    /* Data that one of the sockets has no room for. The other one is not read until it has. */
    size_t event_length;
    unsigned char event[RUN_EVENT_MESSAGE_LIMIT];
    size_t order_length;
    size_t order_fd_count;
    int order_fds[RUN_ORDER_FDS];
    unsigned char order[RUN_ORDER_LIMIT];
};

/* Closes everything of it. */
void run_free(struct run *run);

/* run_events.c */

/* Watches the plugin's socket. */
bool run_watch_plugin(struct run *run);
bool run_watch_worker(struct run *run, int inner);
/* Sends it, as soon as there is room. */
void run_tell(struct run *run, const struct run_event *event);
/* Sends the last event, and frees the run, then or later. */
void run_finish(struct run *run, struct run_event *event);
