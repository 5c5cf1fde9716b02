/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The known workers: those of the policy, of a watched file, or of a name whose addresses are
 * looked up periodically. Single-threaded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "backends/common/event_loop.h"
#include "backends/remote/client/resolver.h"
#include "backends/remote/messages/remote_options.h"
#include "base/error.h"

#define DISCOVERY_FILE_LIMIT 131072 /* bytes */

struct discovery {
    struct event_loop *loop;
    struct resolver *resolver;
    const struct remote_options *options; /* borrowed */
    struct remote_place places[REMOTE_WORKERS_MOST];
    size_t count;
    bool known;         /* whether it has been found out once */
    struct error error; /* of the last look-up; message "": none. The workers known before stay */
    void *user;
    void (*changed)(void *user); /* from event_loop_turn() alone, or discovery_begin() */
    /* The rest is its own. */
    struct timer again;
    struct question question;
    struct watch watch;
};

/* The members up to options, user and changed are set. */
void discovery_begin(struct discovery *discovery);
void discovery_end(struct discovery *discovery);

/* Reads the lines of a file: a worker each ("NAME HOST:PORT"), empty, or a comment after "#". Their
 * number, and no more than REMOTE_WORKERS_MOST; -1 with the number of a line that is none of these.
 * Pure. */
int discovery_parse(char *text, struct remote_place *ret, int *ret_line);
