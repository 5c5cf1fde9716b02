/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One worker: its connection, which is made anew when it is lost, whether it is usable and why not,
 * and the runs that are on it. Single-threaded.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "backends/common/event_loop.h"
#include "backends/remote/client/placement.h"
#include "backends/remote/client/resolver.h"
#include "backends/remote/link/link.h"
#include "protocol/backend_parts.h"

enum worker_state {
    WORKER_RESTING,    /* until the next attempt */
    WORKER_RESOLVING,  /* its address */
    WORKER_CONNECTING, /* until both sides have greeted */
    WORKER_USABLE,
};

struct worker;

/* A run on a worker, from its offer on; part of the run's structure. */
struct assignment {
    struct worker *worker; /* NULL: none */
    uint32_t channel;
    struct assignment *next;
    void (*answered)(struct assignment *assignment, const struct remote_answer *answer);
    /* The connection is lost, and nothing of the run is on it any more. begun: a byte of the run
     * may have reached the worker. The worker is gone when it returns. */
    void (*lost)(struct assignment *assignment, bool begun, const char *why);
};

/* The options that all workers of a configuration share, and their callbacks. */
struct worker_context {
    struct event_loop *loop;
    struct resolver *resolver;
    struct tls_files files; /* borrowed */
    const char *mode;       /* that each must have; borrowed */
    void *user;
    void (*changed)(void *user); /* one has become usable, or is not any more */
    void (*has_room)(void *user, const struct worker *worker);
};

struct worker {
    const struct worker_context *context;
    struct worker *next;
    uint64_t id;
    struct remote_place place;
    bool listed;   /* false: it ends with its last run */
    bool draining; /* it has said so: no run is offered any more */
    bool woken;    /* a run waits for its next attempt */
    enum worker_state state;
    struct remote_hello peer;
    struct remote_capacity capacity; /* slots 0: not told yet */
    uint32_t assigned;               /* runs and offers of ours */
    uint64_t settled_us;             /* when the last attempt ended, 0: none has */
    struct error error;              /* of the last attempt that failed; message "": none */
    /* The rest is its own. */
    struct link *link;
    struct tls_context *tls;
    struct watch watch;
    struct timer timer; /* of the state */
    struct timer limit; /* of an attempt */
    struct question question;
    uint64_t rest_ms;
    uint32_t attempts; /* one address after the other */
    struct assignment *assignments;
    bool handling; /* inside link_handle() */
    bool unfit;    /* it has greeted, and is not what is wanted */
};

/* Connects at the next turn. NULL when out of memory. */
struct worker *worker_new(const struct worker_context *context, uint64_t id,
                          const struct remote_place *place);
/* Ends the connection and with it all runs, which are told that they are lost. */
void worker_free(struct worker *worker, const char *why);

/* Whether it takes offers. */
bool worker_is_usable(const struct worker *worker);
/* Whether an attempt that may make it so is under way. */
bool worker_is_coming(const struct worker *worker);
/* A run waits: it need not rest for long. */
void worker_wake(struct worker *worker);
struct candidate worker_candidate(const struct worker *worker);
void worker_details(const struct worker *worker, struct remote_details *ret);
void worker_part(const struct worker *worker, struct backend_part *ret);

/* Offers a run: answered() or lost() follows, unless it is withdrawn. false: it cannot. */
bool worker_offer(struct worker *worker, const struct remote_offer *offer,
                  struct assignment *assignment);
/* After it was accepted; takes the descriptors. false: it cannot, and the run is not on it. */
bool worker_send(struct assignment *assignment, int fds[RUN_FD_COUNT]);
/* The run or its offer is not wanted any more; nothing is told of it afterwards. */
void worker_withdraw(struct assignment *assignment);
