/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The images that containers are made from: for each image of the policy one that is derived from
 * it, with the guest in it. It is looked for in the engine, and made where it is not there:
 *   list -> inspect, one after the other -> create -> archive -> commit -> inspect -> remove
 * A run with packages has an image that is derived in the same way from the one with the guest.
 * image_store.c has what is known, derivation.c the chain of requests, image_sweep.c what becomes
 * of derived images that nobody needs. Runs in the docker backend, single-threaded; no function
 * here waits.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "backends/docker/engine/engine.h"
#include "backends/docker/image/guest_file.h"
#include "base/sha256.h"
#include "protocol/run_description.h"

#define GUEST_FILES_LIMIT    4
#define DERIVED_IMAGES_LIMIT 16

/* One that was found good, or was made. */
struct derived_image {
    const struct engine *engine; /* NULL: the place is free */
    char base[IMAGE_ID_LIMIT + 1];
    char packages[SHA256_TEXT_LENGTH + 1]; /* hash of the set that is in it too; "": none is */
    char id[IMAGE_ID_LIMIT + 1];
};

/* The digest of the layer that an engine has made of a set. */
struct made_packages {
    const struct engine *engine; /* NULL: the place is free */
    char packages[SHA256_TEXT_LENGTH + 1];
    char layer[LAYER_DIGEST_LIMIT + 1];
};

/* Starts all zero. */
struct image_store {
    struct guest_file guests[GUEST_FILES_LIMIT];
    struct derived_image derived[DERIVED_IMAGES_LIMIT];
    size_t next; /* the place that is used next */
    struct made_packages made[DERIVED_IMAGES_LIMIT];
    size_t next_made;
    struct derivation *derivations; /* under way; owned */
};

struct image_waiter;
/* The id of the derived image, valid during the call; NULL with the fault, whose problem is NONE
 * where memory has run out. */
typedef void image_done(struct image_waiter *waiter, const char *id,
                        const struct engine_fault *fault);

/* Whoever waits for a derived image; a part of its owner. */
struct image_waiter {
    image_done *done;
    void *user;
    struct image_waiter *next; /* in the list of the derivation */
    struct derivation *derivation;
};

/* Gets the waiter the image that is derived from base, the answer of GET /images/NAME/json with
 * that id, and has the packages in it (NULL: none): at once where it is known, else later. */
void image_store_get(struct docker_environment *environment, struct engine *engine, json_t *base,
                     const char *base_id, const struct run_packages *packages,
                     struct image_waiter *waiter);
/* It waits no longer; what is under way goes on. Nothing where it does not wait. */
void image_waiter_leave(struct image_waiter *waiter);

/* The engine may not have that derived image any more; NULL: nor any other. */
void image_store_forget(struct docker_environment *environment, const struct engine *engine,
                        const char *id);
/* Gives up what is under way: containers are removed, and nothing else is begun. */
void image_store_close(struct docker_environment *environment);
/* Something is still under way. */
bool image_store_is_busy(const struct docker_environment *environment);
/* Frees what is over. */
void image_store_handle(struct docker_environment *environment);
void image_store_clear(struct docker_environment *environment);

/* The guest for images of that architecture; NULL with the fault. */
struct guest_file *image_store_guest(struct image_store *store, const char *architecture,
                                     struct engine_fault *fault);
/* Remembers an image that was found good. */
void image_store_keep(struct image_store *store, const struct engine *engine, const char *base,
                      const char *packages, const char *id);
bool image_store_knows(const struct image_store *store, const struct engine *engine,
                       const char *id);

/* Removes derived images that nobody needs: those of another guest, second ones, those whose base
 * is gone or has lost its name, and those with packages that were made a week ago and that this
 * backend has not used, because nobody can tell whether their set is still there; only where they
 * are older than a day and no container is of them, because another gateway may use the engine too.
 * An image that has a name, or lacks our labels, is never removed. Ends with done; false when out
 * of memory. */
typedef void image_sweep_done(void *user);
bool image_sweep_start(struct docker_environment *environment, struct engine *engine,
                       image_sweep_done *done, void *user);
