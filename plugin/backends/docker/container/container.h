/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One container from the request that makes it to its removal:
 *   create -> read back -> attach -> start -> wait -> read the end -> remove
 * It serves one run, or waits for one at its bootstrap, or is on its way out with nobody to tell.
 * A failure or a kill at any place leads to remove. container.c has the chain of requests,
 * container_stream.c the stream. Runs in the docker backend, single-threaded; no function here
 * waits.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "backends/docker/container/attached_stream.h"
#include "backends/docker/container/bootstrap.h"
#include "backends/docker/container/container_end.h"
#include "backends/docker/engine/engine.h"
#include "protocol/run_event.h"

#define CONTAINER_NAME_PREFIX "code-execute-"
#define CONTAINER_NAME_LENGTH (sizeof(CONTAINER_NAME_PREFIX) - 1 + 32)
#define CONTAINER_PATH_LIMIT  256 /* of a request to the engine */
#define STREAM_CHUNK          65536
/* From the order to make one to its bootstrap's word; below the plugin's own patience with a
 * set-up, so that the reason is told. */
#define CONTAINER_START_LIMIT_US (UINT64_C(18) * 1000000)

struct container;
struct run;
struct warm_pool;

/* What a container does for a run: the run's, which lends it. */
struct container_job {
    struct run *run;        /* for container_events alone */
    int pipes[2];           /* standard output and error */
    unsigned char *message; /* to the bootstrap; wiped once the program has started */
    size_t message_length;
    bool started; /* the run's to set, in container_events.started */
};

/* What a container tells of itself. The pool and the run stand above it, so they say what is to be
 * called: one table for all containers, in the environment. */
struct container_events {
    /* To the pool, of a container in a warm pool: it waits for its message; it has failed or was
     * taken away. */
    void (*ready)(struct container *container);
    void (*lost)(struct container *container);
    /* To its run: the bootstrap has said that it becomes the program. */
    void (*started)(struct run *run);
    /* It has not found the program's file. The container is still there, as with the next. */
    void (*missing)(struct run *run);
    void (*failed)(struct run *run, enum run_failure failure, const struct engine_fault *fault);
    /* The program has ended as the container says, and all its output was passed on. */
    void (*ended)(struct run *run);
    /* fault NULL: the container is gone; else it is not, and no longer this run's. */
    void (*gone)(struct run *run, const struct engine_fault *fault);
};

struct container_stream {
    struct engine_call *connection; /* NULL: not open, or over */
    bool connected;
    bool asked_whole; /* the request for it was sent */
    bool ended;       /* the engine has ended it; what it brought may still be to be written */
    bool over;
    bool more; /* there may be more to receive than poll() knows of */
    struct http_head head;
    bool taken_over; /* the head is read; frames follow */
    struct frame_reader frames;
    struct bootstrap_reader bootstrap;
    enum bootstrap_state state;
    unsigned char chunk[STREAM_CHUNK];
    size_t begin; /* of what is still to be looked at */
    size_t end;
    struct frame_piece piece;        /* of that */
    struct frame_piece output;       /* of that: to be written to a pipe */
    struct end_mark_reader marks[2]; /* of standard output and error */
    size_t asked;                    /* bytes sent of the request for the stream */
    size_t mark_sent;                /* of the end mark */
    size_t sent;                     /* of the run's message */
    struct bootstrap_reader errors;  /* what the bootstrap said on its standard error */
    enum bootstrap_state errors_state;
};

struct container {
    struct container *next; /* in the environment's list, which owns it */
    struct docker_environment *environment;
    struct engine *engine;
    struct engine_address address; /* where it was made, wherever the engine is looked for since */
    unsigned int api;
    struct container_job *job;   /* that it serves */
    struct warm_pool *warm_pool; /* in which it waits for one */
    bool warm;                   /* it was made without a run */
    bool ready;                  /* and waits for its message */
    char name[CONTAINER_NAME_LENGTH + 1];
    char id[65];
    char end_mark[END_MARK_LINE + 1];
    json_t *config;           /* as asked for */
    struct engine_call *call; /* the request under way */
    struct engine_call *wait;
    struct container_stream stream;
    bool created; /* there may be a container of that name */
    bool creating;
    bool running;       /* the engine has said so */
    bool waited;        /* it has ended: end is filled */
    bool memory_killed; /* a process in it was killed for memory, as the engine's events say */
    bool looked;        /* what the engine says of that end was asked for */
    bool removing;
    bool removed;
    unsigned int attempts; /* at removing */
    struct container_end end;
    uint64_t made_us;
    uint64_t deadline_us; /* 0: none */
};

/* A container of that configuration (taken) is made for the job, or without one for the warm pool.
 * NULL when out of memory. */
struct container *container_make(struct docker_environment *environment, struct engine *engine,
                                 json_t *config, struct container_job *job,
                                 struct warm_pool *warm_pool);
/* Begins to remove it, however far it is. Its run, if it still has one, is told when it is gone. */
void container_remove(struct container *container);
/* The same, and nobody is told. */
void container_leave(struct container *container);
/* A container of that engine that it has not removed in all attempts; NULL: none. */
struct container *container_stuck(const struct docker_environment *environment,
                                  const struct engine *engine);
/* Once more, for a run that waits for it. */
void container_retry(struct container *container, struct container_job *job);
/* How many are on their way out with nobody to tell. */
size_t container_count_leaving(const struct docker_environment *environment);

/* Both lead to its removal; its run is told, or its warm pool. */
void container_fail(struct container *container, const char *message);
void container_fail_engine(struct container *container, const struct engine_fault *fault);
/* Its run's time is up. true: the program ended before, and its run is told so without waiting for
 * what the engine says of the end. */
bool container_end_last_look(struct container *container);
/* After the stream is taken over. */
void container_start(struct container *container);

/* Reads and writes what can be. */
void container_handle(struct container *container);
/* Its deadline has passed. */
void container_expire(struct container *container);
/* It is gone and nobody has to be told: container_free() is due. */
bool container_is_over(const struct container *container);
void container_free(struct container *container);

/* container_stream.c */
bool container_stream_open(struct container *container);
void container_stream_close(struct container *container);
short container_stream_interest(const struct container *container);
/* Which pipe of its run it waits for, -1: none. */
int container_stream_blocked_pipe(const struct container *container);
void container_stream_handle(struct container *container);
/* It has something to do without waiting for any descriptor. */
bool container_stream_is_ready(const struct container *container);
