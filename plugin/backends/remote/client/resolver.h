/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks up the addresses of names without blocking. getaddrinfo(3) blocks, and its asynchronous
 * form needs a thread; c-ares does not read the machine's nsswitch.conf. So a helper process forks
 * a child for each question. It is forked itself before the backend has read any key.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "backends/common/event_loop.h"
#include "backends/remote/messages/remote_options.h"

#define RESOLVED_MOST 64

struct resolved {
    uint32_t count; /* 0: it has none; reason says why */
    struct {
        struct sockaddr_storage address;
        socklen_t length;
    } addresses[RESOLVED_MOST];
    char reason[96];
};

struct resolver;

/* One question; part of the structure of its caller. */
struct question {
    uint64_t number; /* 0: none is open */
    /* Within 10 s, from event_loop_turn() alone. resolved is lent. */
    void (*answered)(struct question *question, const struct resolved *resolved);
    struct timer limit;
    struct resolver *resolver;
    struct question *next;
};

/* Forks. NULL with errno. */
struct resolver *resolver_new(void);
/* Ends the helper. No question is answered any more. */
void resolver_free(struct resolver *resolver);
/* Watches for answers from now on; false with errno. */
bool resolver_begin(struct resolver *resolver, struct event_loop *loop);

/* A numeric address is answered as well, at the next turn. false: it cannot ask. */
bool resolver_ask(struct resolver *resolver, struct question *question,
                  const struct remote_address *address);
/* Fine for one that is not open. */
void resolver_forget(struct question *question);
