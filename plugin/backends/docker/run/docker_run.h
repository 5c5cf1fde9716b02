/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the docker backend has of a run: its questions to the engine before there is a container
 * (run_steps.c), its image (run_image.c), and what is known of the container's layers
 * (run_layers.c). See struct guest_provider; the rest of a run is in guest_runs/run/. Runs in the
 * docker backend, single-threaded; no function here waits.
 */
#pragma once

#include "backends/docker/container/docker_container.h"
#include "backends/docker/image/image_store.h"
#include "backends/docker/run/pull_progress.h"
#include "backends/docker/run/sweep.h"
#include "backends/guest_runs/run/run_private.h"

#define RUN_PATH_LIMIT 1024 /* of a request to the engine */

/* An image is being fetched. */
struct run_pull_state {
    struct pull_progress progress;
    char last[256]; /* the last line that the plugin got */
    uint64_t heard_us;
};

struct docker_run {
    struct run run;                    /* the first member */
    struct docker_options options;     /* of the description */
    struct engine_call *call;          /* the request under way */
    struct sweep *sweep;               /* that this run waits for */
    struct run_pull_state *pull;       /* under way */
    bool pulled;                       /* it has been tried */
    struct image_waiter waiter;        /* for the image with the guest */
    char image_id[IMAGE_ID_LIMIT + 1]; /* that image's; event.image_id is its base's */
    bool told_packages;                /* that they are put into one */
    bool derived_anew;                 /* that image was gone, and the run has begun anew */
};

/* The whole of which that is a part: every one here is. */
struct docker_run *docker_run(struct run *run);

/* docker_provider.c */
extern const struct guest_provider docker_provider;

/* run_steps.c */
void docker_run_begin(struct run *run);
void docker_run_go_on(struct run *run);
void docker_run_make_container(struct run *run);
/* A request of the run, which has it until done is called. A start that fails ends the run. */
void docker_run_ask(struct run *run, const char *path, engine_done *done);
/* The answer's JSON object (new) where the status is the expected one; else NULL, and the run has
 * failed: docker refused to do what. */
json_t *docker_run_take_answer(struct run *run, const struct engine_answer *answer, long expected,
                               const char *what);
/* The image is known: the run gets a container, one that waits or one that is made for it. */
void docker_run_get_container(struct run *run);

/* run_image.c */
void docker_run_ask_for_image(struct run *run);
/* The image with the guest was removed since it was looked up, by somebody's prune: it is derived
 * once more. */
bool docker_run_begin_anew(struct run *run, const struct engine_fault *fault);
/* While an image is pulled: reports progress to the plugin, and gives up on a silent engine. While
 * one with packages is made: tells the plugin so. That takes as long as the requests to the engine
 * take, each of which has its own end. */
bool docker_run_expire(struct run *run);

/* run_layers.c */
bool docker_run_judge(struct run *run, struct isolation_report *report);
