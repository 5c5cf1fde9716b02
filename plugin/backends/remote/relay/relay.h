/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state that the folder shares: a link, its runs, and their channels. A channel stands for a
 * local descriptor here and another one on the other side. The gateway's side is given descriptors,
 * and the worker's side makes new ones (attachments.c).
 *
 * A channel ends by one END or RESET of each side. A side that has sent its last bytes says END; a
 * side that can take none any more says RESET; the other side answers with either. Until both have
 * been said the number stands for the channel, so a frame for an unknown channel breaks the rules.
 * Single-threaded. Runs in code-execute-remote and code-execute-worker.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/remote/link/connection.h"
#include "backends/remote/link/link.h"
#include "backends/remote/link/remote_frame.h"
#include "protocol/channel.h"

#define LINK_BUCKETS 1024
/* A frame for less would cost more than it does. */
#define WORTH_TELLING (REMOTE_WINDOW / 4)
/* A datagram costs its payload and so much for each attachment: the window also bounds the
 * descriptors that are under way. */
#define ATTACHMENT_COST 4096
#define DATAGRAM_COST_LIMIT                                                   \
    (REMOTE_DATAGRAM_HEAD(REMOTE_ATTACHMENTS_LIMIT) + REMOTE_DATAGRAM_LIMIT + \
     REMOTE_ATTACHMENTS_LIMIT * ATTACHMENT_COST)
#define RUN_ATTACHMENTS (RUN_FD_COUNT - RUN_FD_DESCRIPTION)

/* Frames that wait for room, in the order of their arrival. */
struct block {
    struct block *next;
    struct channel *channel;
    enum remote_kind kind; /* DATA, DATAGRAM, END or RESET */
    size_t missing;        /* of a datagram: contents that are not whole */
    bool failed;           /* of a datagram: one cannot be had */
    size_t fd_count;
    int fds[REMOTE_ATTACHMENTS_LIMIT]; /* owned; -1: missing */
    uint32_t cost;                     /* of the window */
    size_t begin, length;
    unsigned char bytes[];
};

struct lane {
    struct block *first, *last;
};

struct content {
    struct block *block; /* that waits for it; NULL: nobody does any more */
    size_t index;        /* among its descriptors */
    uint64_t size, done;
    int memfd;            /* -1: none */
    unsigned char *bytes; /* of a description, size + 1 of them; owned, wiped */
};

/* Data that was read ahead of bytes that must go first (source.c). */
struct held {
    unsigned char *bytes; /* owned, wiped; NULL: nothing */
    size_t length;
};

/* The channel that waits for an output's bytes. */
enum follower { FOLLOWER_RESULTS, FOLLOWER_EVENTS, FOLLOWER_COUNT };

struct channel {
    uint32_t number;
    enum remote_form form; /* DATAGRAMS of a run's own channel */
    int place;             /* enum run_fd; -1: a file by reference */
    struct run *run;
    uint32_t datagram; /* the number of the first channel that came over with it */
    struct channel *next_in_bucket;
    struct channel *next_in_run, *previous_in_run;
    int fd;      /* owned; -1: none, or no more */
    bool reads;  /* what comes out of fd goes to the other side */
    bool writes; /* the other direction */
    bool end_sent, end_received;
    bool end_seen; /* the other side's END or RESET has come, and may wait in the lane */
    bool is_dead;  /* in no list any more, and freed behind the turn (channel_bury()) */
    /* Towards the other side. */
    bool is_due; /* in the link's list: fd may have something, and there is room */
    struct channel *next_due;
    uint32_t allowance; /* bytes that the other side has room for */
    uint64_t total;     /* bytes that were sent */
    uint64_t marks[FOLLOWER_COUNT];
    struct held held;
    struct content content; /* of CONTENT, on both sides */
    struct intake *intake;  /* owned: at the worker, until it is a mere stream; else NULL */
    /* From the other side. */
    uint32_t room;  /* bytes that it may send */
    uint32_t taken; /* bytes that it is not told of yet */
    struct lane own_lane;
    struct lane *lane;
};

enum run_state {
    RUN_OFFERED,
    RUN_ACCEPTED,
    RUN_SENT, /* its datagram is on its way, or has come */
    RUN_GONE, /* refused or withdrawn */
};

struct run {
    struct link *link;
    uint32_t number;
    enum run_state state;
    struct channel *channel; /* NULL: gone */
    struct channel *channels;
    size_t channel_count;
    size_t held_count;
    uint64_t begins_at; /* of all that was sent: its datagram */
    bool is_told;       /* run_over() is due for it */
    bool is_answered;
    bool withdraw_due;
    /* At the gateway: data that must be handed over in the order of its arrival. */
    struct lane lane;
    struct run *next, *previous;
};

struct link {
    struct connection *connection;
    bool is_server;
    const struct link_handler *handler;
    void *user;
    int epoll;
    struct channel *buckets[LINK_BUCKETS];
    size_t channel_count, run_count, offer_count;
    uint32_t last_number;
    struct channel *due_first, *due_last;
    struct channel *dead; /* by next_in_bucket */
    struct run *runs;
    struct run *over; /* runs of which the handler is still to hear */
    bool is_handling, withdraw_due, is_draining, socket_ready;
    bool capacity_due;
    struct remote_capacity capacity;
    uint64_t capacity_us; /* when the next may go out */
    unsigned char datagram[REMOTE_DATAGRAM_LIMIT];
};

static inline uint32_t datagram_cost(size_t length, size_t attachments)
{
    return (uint32_t)(length + attachments * ATTACHMENT_COST);
}

/* channel.c */
/* NULL: no memory, or too many. */
struct channel *channel_new(struct run *run, uint32_t number, enum remote_form form, int place);
struct channel *channel_find(const struct link *link, uint32_t number);
/* Watches fd, which is the channel's from now on in any case. */
bool channel_watch(struct channel *channel, int fd);
void channel_close(struct channel *channel);
void channel_make_due(struct channel *channel);
void channel_forget_due(struct channel *channel);
/* Says END or RESET where neither was said. The channel may be gone then. */
void channel_end(struct channel *channel, enum remote_kind kind);
/* The other side has said either. */
void channel_take_end(struct channel *channel);
/* Nothing can be taken or had any more: closes fd, forgets what waits, says RESET. */
void channel_reset(struct channel *channel);
/* So much has come. false: it was not allowed, and the connection is over. */
bool channel_take_room(struct channel *channel, uint32_t cost);
/* So many bytes that came have found their place. */
void channel_took(struct channel *channel, uint32_t cost);
/* Frees those that are gone. A turn goes on to name them until its end. */
void channel_bury(struct link *link);

/* run.c */
/* Its last channel is gone. */
void run_end(struct run *run);

/* lane.c: from the other side */
bool lane_take_data(struct channel *channel, unsigned char *bytes, size_t length);
bool lane_take_datagram(struct channel *channel, const unsigned char *payload, size_t length);
void lane_take_end(struct channel *channel, enum remote_kind kind);
/* Hands over what can be. */
void lane_go_on(struct lane *lane);
/* Drops the data that waits for that channel; a waiting END counts as arrived. */
void lane_forget(struct lane *lane, struct channel *channel);

/* content.c: from the other side */
bool content_begin(struct channel *channel, struct block *block, size_t index, uint64_t size);
bool content_take(struct channel *channel, const unsigned char *bytes, size_t length);
void content_end(struct channel *channel);
void content_clear(struct content *content);

/* attachments.c */
/* Gateway: makes channels of descriptors, which are the callee's in any case. false with everything
 * closed: one is none that goes over, or there is no room. */
bool attachments_give(struct run *run, int *fds, size_t count, struct remote_datagram *ret);
/* Worker: makes descriptors for channels. false: the connection is over. */
bool attachments_make(struct channel *carrier, const struct remote_datagram *datagram,
                      struct block *block);

/* source.c: to the other side */
/* One piece of what the descriptor has. The channel may be gone then. */
void source_step(struct channel *channel);
