/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One container of an engine, from the request that creates it to its removal:
 *   create -> read back -> attach -> start -> wait -> read the end -> remove
 * docker_container.c has the chain of requests, docker_stream.c the form of the attached stream,
 * oom_watch.c the events of kills for memory. What it does for its run is the shared part's
 * (guest_runs/container/container.h). Runs in the docker backend, single-threaded; no function here
 * waits.
 */
#pragma once

#include <jansson.h>

#include "backends/docker/container/attached_stream.h"
#include "backends/docker/engine/engine.h"
#include "backends/guest_runs/container/container.h"

struct docker_container {
    struct container container;    /* the first member */
    struct engine_address address; /* where it was made; the engine's may have changed since */
    unsigned int api;
    char id[65];
    json_t *config;           /* as asked for */
    struct engine_call *call; /* the request under way */
    struct engine_call *wait;
    struct engine_call *connection; /* of its stream; NULL: not open, or over */
    size_t asked;                   /* bytes sent of the request for the stream */
    struct http_head head;
    bool is_head_read; /* frames follow */
    struct frame_reader frames;
};

/* The whole of which that is a part: every one here is. */
struct docker_container *docker_container(struct container *container);

/* Begins to create one with that configuration (taken) for the job, or without a job for the warm
 * pool. NULL when out of memory. */
struct container *docker_container_make(struct docker_environment *environment,
                                        struct engine *engine, json_t *config,
                                        struct container_job *job, struct warm_pool *warm_pool);

/* See struct guest_provider. */
void docker_container_start(struct container *container);
void docker_container_read_end(struct container *container);
bool docker_container_is_asking(const struct container *container);
void docker_container_stop_asking(struct container *container);
bool docker_container_remove(struct container *container);
bool docker_container_is_current(const struct container *container);
void docker_container_free(struct container *container);

/* docker_stream.c: HTTP's upgrade, then frames of 8 bytes and their content. */
extern const struct attached_form docker_attached_form;

/* oom_watch.c */
/* Begins to listen to the engine's events of processes killed for memory, unless it does already.
 * State.OOMKilled exists only for a container that has ended; the events also report one that goes
 * on without the killed process. Nothing depends on them: after a failure the next run tries again.
 */
void oom_watch_begin(struct engine *engine);
