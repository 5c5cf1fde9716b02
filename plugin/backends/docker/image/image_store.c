/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what is known of guests and derived images: see image_store.h. Runs in the docker backend.
 */
#include "backends/docker/image/image_store.h"

#include <stdio.h>
#include <string.h>

#include "backends/docker/image/derivation.h"
#include "base/cleanup.h"

struct guest_file *image_store_guest(struct image_store *store, const char *architecture,
                                     struct engine_fault *fault)
{
    size_t i = 0;
    while (i < GUEST_FILES_LIMIT && store->guests[i].archive) {
        if (architecture && strcmp(store->guests[i].architecture, architecture) == 0)
            return &store->guests[i];
        i++;
    }
    if (i == GUEST_FILES_LIMIT) {
        engine_fault_set(fault, ENGINE_PROBLEM_NO_GUEST,
                         "images of more than %d architectures are in use", GUEST_FILES_LIMIT);
        return NULL;
    }
    return guest_file_read(architecture, &store->guests[i], fault) ? &store->guests[i] : NULL;
}

void image_store_keep(struct image_store *store, const struct engine *engine, const char *base,
                      const char *packages, const char *id)
{
    struct derived_image *place = &store->derived[store->next];
    store->next = (store->next + 1) % DERIVED_IMAGES_LIMIT;
    place->engine = engine;
    (void)snprintf(place->base, sizeof(place->base), "%s", base);
    (void)snprintf(place->packages, sizeof(place->packages), "%s", packages);
    (void)snprintf(place->id, sizeof(place->id), "%s", id);
}

/* NULL: it is not known. */
static const char *find(const struct image_store *store, const struct engine *engine,
                        const char *base, const char *packages)
{
    for (size_t i = 0; i < DERIVED_IMAGES_LIMIT; i++)
        if (store->derived[i].engine == engine && strcmp(store->derived[i].base, base) == 0 &&
            strcmp(store->derived[i].packages, packages) == 0)
            return store->derived[i].id;
    return NULL;
}

bool image_store_knows(const struct image_store *store, const struct engine *engine, const char *id)
{
    for (size_t i = 0; i < DERIVED_IMAGES_LIMIT; i++)
        if (store->derived[i].engine == engine && strcmp(store->derived[i].id, id) == 0)
            return true;
    return false;
}

void image_store_get(struct docker_environment *environment, struct engine *engine, json_t *base,
                     const char *base_id, const struct run_packages *packages,
                     struct image_waiter *waiter)
{
    const char *known =
        find(environment->images, engine, base_id, packages ? packages->sha256 : "");
    if (known)
        waiter->done(waiter, known, NULL);
    else
        derivation_join(environment, engine, base, base_id, packages, waiter);
}

void image_store_forget(struct docker_environment *environment, const struct engine *engine,
                        const char *id)
{
    struct image_store *store = environment->images;
    for (size_t i = 0; i < DERIVED_IMAGES_LIMIT; i++)
        if (store->derived[i].engine == engine && (!id || strcmp(store->derived[i].id, id) == 0))
            store->derived[i].engine = NULL;
    if (!id)
        derivation_leave_all(store, engine);
}

void image_store_clear(struct docker_environment *environment)
{
    struct image_store *store = environment->images;
    derivation_free_all(store);
    for (size_t i = 0; i < GUEST_FILES_LIMIT; i++)
        guest_file_clear(&store->guests[i]);
}
