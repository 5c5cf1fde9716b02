/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run as the supervisor holds it, between its start (run_start.c) and its end (run.c). Nobody
 * else looks inside. Runs in the supervisor, single-threaded.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "backends/process/messages/report.h"
#include "backends/process/supervisor/cause.h"
#include "backends/process/supervisor/launch/sandbox_handle.h"
#include "backends/process/supervisor/run.h"
#include "backends/process/supervisor/session_clock.h"

struct run {
    int socket; /* -1 once the plugin has closed its end */
    struct sandbox_handle *process;
    uint32_t slot;
    bool unconfined;
    bool collects; /* its files */
    bool ordered;  /* to end by itself: not killed yet */
    bool ready;    /* the program may have begun */
    bool started;
    bool unwatched; /* its end is looked for again and again */
    bool orphaned;  /* its subreaper was killed: its children are to be killed */
    bool tree_is_gone;
    struct tree_usage tree; /* then */
    uint64_t started_us;
    uint64_t deadline_us;
    struct run_limits limits;
    struct run_session session;
    struct session_clock clock; /* of a session that has started */
    struct run_evidence evidence;
    struct run_event event; /* ENDED, as it builds up */
    char directory[64];     /* of an unconfined run */
};

/* The subreaper removes the directory. Where it could not, another process does, as a tree of the
 * run's making may take long. It is no child of the supervisor, and holds no descriptor of it. */
void run_remove_leftovers(struct run *run);
