/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inner to a derivation: its state, and what its two files offer each other. derivation_list.c has
 * those that are under way, and begins and ends them; derivation.c has the chain of requests.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "backends/docker/image/derivation.h"
#include "backends/docker/image/guest_file.h"
#include "backends/docker/image/package_archive.h"
#include "base/sha256.h"

#define CONTAINER_NAME_SIZE 64
#define CANDIDATES_LIMIT    4 /* images with our labels that are looked at */

struct derivation {
    struct derivation *next;
    struct docker_environment *environment;
    struct engine *engine;
    struct engine_address address; /* where it began; the engine's may have changed since */
    unsigned int api;
    struct guest_file *guest;
    json_t *base; /* the image of the policy */
    char base_id[IMAGE_ID_LIMIT + 1];
    json_t *from; /* what the image is made from: base, and for packages the one with the guest */
    char from_id[IMAGE_ID_LIMIT + 1];
    char packages[SHA256_TEXT_LENGTH + 1]; /* hash of the set; "": the guest's image */
    int set;                               /* its directory, owned; -1 */
    struct tree_limits limits;
    struct package_archive *archive; /* while it is sent; owned */
    struct image_waiter parent;      /* for the image with the guest */
    bool is_anew;                    /* that one was gone, and is made once more */
    char candidates[CANDIDATES_LIMIT][IMAGE_ID_LIMIT + 1];
    size_t candidate_count;
    size_t candidate;               /* the one that is looked at */
    char id[IMAGE_ID_LIMIT + 1];    /* of the image that was made; "": none yet */
    json_t *labels;                 /* of the container's owner */
    char name[CONTAINER_NAME_SIZE]; /* of the container; "": none was asked for */
    unsigned int attempts;          /* at its removal */
    struct engine_call *call;       /* the request under way */
    struct engine_call *removal;
    bool creating; /* the answer to create is still to come */
    struct image_waiter *waiters;
    bool left; /* no other run joins it */
    bool over; /* but for the removal */
};

/* derivation.c */
/* Looks for the image, and makes it where there is none. */
void derivation_list(struct derivation *derivation);
/* The same, once from_id is known alone. */
void derivation_ask_for_parent(struct derivation *derivation);
void derivation_fail(struct derivation *derivation, const struct engine_fault *fault);

/* derivation_list.c */
/* The image with the guest was gone. */
void derivation_begin_anew(struct derivation *derivation);
