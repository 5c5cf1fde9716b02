/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sandboxes that were made ready ahead of need, a warm pool for each template that runs ask for,
 * and the interpreters that some of them are copies of. Each sandbox is used once. Runs in the
 * supervisor, single-threaded; a warm pool is filled when there is nothing else to do.
 */
#pragma once

#include "backends/process/supervisor/fork_server/fork_server.h"
#include "backends/process/supervisor/launch/reaper.h"
#include "backends/process/supervisor/launch/sandbox_handle.h"
#include "backends/process/supervisor/pool/warm_pool_size.h"
#include "protocol/pool_report.h"
#include "protocol/run_event.h"

#define WARM_POOLS 32

struct warm_pool {
    struct sandbox_template template; /* workspace NULL: the warm pool is free */
    struct sandbox_handle *first;     /* the oldest */
    uint32_t count;
    struct run_limits limits; /* of the last run, and of the next one most likely */
    struct warm_pool_size size;
    uint64_t memory_bytes;              /* that one of them holds, as far as it is known */
    uint64_t settled_us;                /* when the last one holds what it will; 0: looked at */
    uint64_t idle_us;                   /* unused for so long it is emptied */
    uint64_t used_us;                   /* when it was last asked for */
    uint64_t not_before_us;             /* after a failure: the next attempt */
    uint32_t failures;                  /* in a row */
    bool without_copying;               /* its interpreter is started in each sandbox, or ... */
    bool without_interpreter;           /* ... with the program only: the other did not work */
    struct preparation_outcome outcome; /* why it is one of the two */
    bool untried;                       /* its named modules have not been tried yet */
    struct sandbox_handle *trial;       /* of these; NULL: none is under way */
    uint64_t trial_until_us;            /* it has ended by then */
    struct fork_server *fork_server;    /* NULL: there is none yet */
    struct fork_server *successor;      /* starting, to take its place */
};

struct pool {
    struct run_environment *environment;
    struct reaper *reaper;
    int epoll; /* readable when a waiting one has stirred, which it must not */
    struct warm_pool warm_pools[WARM_POOLS];
    uint64_t memory_limit; /* bytes, of all together */
};

/* false with errno. */
bool pool_open(struct pool *ret, struct run_environment *environment, struct reaper *reaper);

/* A sandbox of that template, the caller's: a ready one, else the copy of an interpreter, else a
 * new one whose interpreter is started with the program; *ret_origin (enum sandbox_origin) tells
 * which. NULL: *reterr says why. */
struct sandbox_handle *pool_obtain(struct pool *pool, const struct sandbox_template *template,
                                   uint64_t now, uint32_t *ret_origin,
                                   struct launch_failure *reterr);
/* A run of that template is made: as many as it says are kept ready from now on. */
void pool_demand(struct pool *pool, const struct sandbox_template *template,
                 const struct run_description *description, uint64_t now);

/* NULL: no run has asked for it. */
struct warm_pool *pool_find(struct pool *pool, const struct sandbox_template *template);
/* Which interpreter waits in the warm pool's sandboxes (enum run_interpreter). */
uint32_t pool_kind(const struct warm_pool *warm_pool);

/* The memory of one sandbox of the warm pool: at least the usual amount, which new ones have not
 * reached yet. */
uint64_t pool_memory_of_one(const struct warm_pool *warm_pool);
/* That of all ready sandboxes. */
uint64_t pool_held_memory(const struct pool *pool);
/* May the warm pool get one more? Of each kind there may be one, whatever it holds. */
bool pool_has_memory_for(const struct pool *pool, const struct warm_pool *warm_pool);

/* Is something to be made? busy: runs are under way, and half of a warm pool is enough. */
bool pool_is_short(struct pool *pool, bool busy, uint64_t now);
/* Makes one. */
void pool_fill(struct pool *pool, bool busy, uint64_t now);

/* Discards sandboxes that have stirred, and follows trials and fork servers. */
void pool_handle(struct pool *pool, uint64_t now);
/* Empties idle warm pools. When to look again, 0: never. */
uint64_t pool_expire(struct pool *pool, uint64_t now);
void pool_empty(struct pool *pool);
bool pool_has(const struct pool *pool, pid_t pid);
/* Counts for the plugin's question. */
void pool_count(const struct pool *pool, struct pool_report *ret);
/* Answers a description that asks for something and for which nothing is run. false: it is a run.
 * true: *ret is its end. */
bool pool_answer_question(struct pool *pool, const struct run_description *description,
                          struct run_event *ret);
