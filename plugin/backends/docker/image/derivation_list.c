/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the derivations that are under way: see derivation.h. One of packages waits for that of its
 * guest's image first. Runs in the docker backend. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/docker/image/derivation_private.h"
#include "base/cleanup.h"
#include "protocol/run_description.h"

static struct derivation *find(const struct docker_environment *environment,
                               const struct engine *engine, const char *base_id,
                               const char *packages)
{
    struct derivation *derivation = environment->images->derivations;
    while (derivation && (derivation->over || derivation->left || derivation->engine != engine ||
                          strcmp(derivation->base_id, base_id) != 0 ||
                          strcmp(derivation->packages, packages) != 0))
        derivation = derivation->next;
    return derivation;
}

static struct derivation *begin(struct docker_environment *environment, struct engine *engine,
                                json_t *base, const char *base_id, struct guest_file *guest)
{
    struct derivation *derivation = calloc(1, sizeof(*derivation));
    if (!derivation)
        return NULL;
    derivation->environment = environment;
    derivation->engine = engine;
    derivation->address = engine->address;
    derivation->api = engine->facts.api;
    derivation->guest = guest;
    derivation->base = json_incref(base);
    derivation->set = -1;
    (void)snprintf(derivation->base_id, sizeof(derivation->base_id), "%s", base_id);
    derivation->next = environment->images->derivations;
    environment->images->derivations = derivation;
    return derivation;
}

static void add_waiter(struct derivation *derivation, struct image_waiter *waiter)
{
    waiter->derivation = derivation;
    waiter->next = derivation->waiters;
    derivation->waiters = waiter;
}

static image_done take_parent;

static void get_parent(struct derivation *derivation)
{
    derivation->parent = (struct image_waiter){.done = take_parent, .user = derivation};
    image_store_get(derivation->environment, derivation->engine, derivation->base,
                    derivation->base_id, NULL, &derivation->parent);
}

static void take_parent(struct image_waiter *waiter, const char *id,
                        const struct engine_fault *fault)
{
    struct derivation *derivation = waiter->user;
    if (derivation->over)
        return;
    if (!id) {
        derivation_fail(derivation, fault);
        return;
    }
    (void)snprintf(derivation->from_id, sizeof(derivation->from_id), "%s", id);
    derivation_ask_for_parent(derivation);
}

void derivation_begin_anew(struct derivation *derivation)
{
    struct engine_fault fault;
    image_store_forget(derivation->environment, derivation->engine, derivation->from_id);
    if (!derivation->is_anew) {
        derivation->is_anew = true;
        get_parent(derivation);
        return;
    }
    engine_fault_set(&fault, ENGINE_PROBLEM_IMAGE_GONE,
                     "the image with the guest is removed as soon as it is made");
    derivation_fail(derivation, &fault);
}

static void begin_with_packages(struct derivation *derivation, const struct run_packages *packages)
{
    struct engine_fault fault;
    (void)snprintf(derivation->packages, sizeof(derivation->packages), "%.64s", packages->sha256);
    derivation->limits = (struct tree_limits){packages->bytes, packages->inodes};
    derivation->set = open(packages->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (derivation->set >= 0) {
        get_parent(derivation);
        return;
    }
    engine_fault_set(&fault, ENGINE_PROBLEM_PACKAGES, "packages: %.150s: %s", packages->path,
                     strerrordesc_np(errno));
    derivation_fail(derivation, &fault);
}

void derivation_join(struct docker_environment *environment, struct engine *engine, json_t *base,
                     const char *base_id, const struct run_packages *packages,
                     struct image_waiter *waiter)
{
    struct engine_fault fault;
    struct derivation *derivation =
        find(environment, engine, base_id, packages ? packages->sha256 : "");
    if (derivation) {
        add_waiter(derivation, waiter);
        return;
    }
    const char *architecture = json_string_value(json_object_get(base, "Architecture"));
    struct guest_file *guest = image_store_guest(environment->images, architecture, &fault);
    if (!guest) {
        waiter->done(waiter, NULL, &fault);
        return;
    }
    derivation = begin(environment, engine, base, base_id, guest);
    if (!derivation) {
        engine_fault_set(&fault, ENGINE_PROBLEM_NONE, "make the image with the guest");
        waiter->done(waiter, NULL, &fault);
        return;
    }
    add_waiter(derivation, waiter);
    if (packages) {
        begin_with_packages(derivation, packages);
        return;
    }
    derivation->from = json_incref(base);
    (void)snprintf(derivation->from_id, sizeof(derivation->from_id), "%s", base_id);
    derivation_list(derivation);
}

void image_waiter_leave(struct image_waiter *waiter)
{
    if (!waiter->derivation)
        return;
    struct image_waiter **place = &waiter->derivation->waiters;
    while (*place != waiter)
        place = &(*place)->next;
    *place = waiter->next;
    waiter->derivation = NULL;
}

static void free_derivation(struct derivation *derivation)
{
    engine_call_cancel(derivation->call);
    engine_call_cancel(derivation->removal);
    image_waiter_leave(&derivation->parent);
    while (derivation->waiters) {
        struct image_waiter *waiter = derivation->waiters;
        derivation->waiters = waiter->next;
        waiter->derivation = NULL;
    }
    package_archive_close(derivation->archive);
    close_fd(derivation->set);
    json_decref(derivation->from);
    json_decref(derivation->base);
    json_decref(derivation->labels);
    free(derivation);
}

void image_store_handle(struct docker_environment *environment)
{
    for (struct derivation **place = &environment->images->derivations; *place;) {
        struct derivation *derivation = *place;
        if (!derivation->over || derivation->creating || derivation->removal) {
            place = &derivation->next;
            continue;
        }
        *place = derivation->next;
        free_derivation(derivation);
    }
}

void derivation_leave_all(struct image_store *store, const struct engine *engine)
{
    for (struct derivation *derivation = store->derivations; derivation;
         derivation = derivation->next)
        if (derivation->engine == engine)
            derivation->left = true;
}

void derivation_free_all(struct image_store *store)
{
    while (store->derivations) {
        struct derivation *derivation = store->derivations;
        store->derivations = derivation->next;
        free_derivation(derivation);
    }
}

void image_store_close(struct docker_environment *environment)
{
    struct engine_fault fault;
    engine_fault_set(&fault, ENGINE_PROBLEM_NONE, "the backend ends");
    for (struct derivation *derivation = environment->images->derivations; derivation;
         derivation = derivation->next) {
        if (!derivation->creating)
            engine_call_cancel(TAKE_POINTER(derivation->call));
        derivation_fail(derivation, &fault);
    }
}

bool image_store_is_busy(const struct docker_environment *environment)
{
    return environment->images->derivations != NULL;
}
