/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the removal of derived images: see image_store.h. Runs in the docker backend. */
#include "backends/docker/image/image_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"

#define PATH_LIMIT  256
#define LEAST_AGE_S ((int64_t)24 * 3600)
#define PACKAGES_S  (7 * LEAST_AGE_S) /* after which one that is still needed is made anew */

/* {"label":["code-execute.base"]} */
#define LIST_PATH \
    "/v1.%u/images/json?filters=%%7B%%22label%%22%%3A%%5B%%22" DERIVED_LABEL_BASE "%%22%%5D%%7D"

struct image_sweep {
    struct docker_environment *environment;
    struct engine *engine;
    image_sweep_done *done;
    void *user;
    size_t pending; /* requests under way */
};

/* A question about the base of an image. */
struct base_question {
    struct image_sweep *sweep;
    char id[IMAGE_ID_LIMIT + 1]; /* of the derived image */
};

static void release(struct image_sweep *sweep)
{
    if (--sweep->pending > 0)
        return;
    sweep->done(sweep->user);
    free(sweep);
}

static bool ask(struct image_sweep *sweep, const char *method, const char *path, engine_done *done,
                void *user)
{
    const struct engine_request request = {
        .address = &sweep->engine->address,
        .method = method,
        .path = path,
        .timeout_ms = ENGINE_TIME_MS,
        .done = done,
        .user = user,
    };
    bool started = engine_call_start(sweep->environment->client, &request) != NULL;
    if (started)
        sweep->pending++;
    return started;
}

/* An engine refuses where a container is of the image; the next sweep meets it again. */
static void take_removal(void *user, const struct engine_answer *answer __attribute__((unused)))
{
    release(user);
}

/* noprune: not the base with it, where that has no name. */
static void remove_image(struct image_sweep *sweep, const char *id)
{
    char path[PATH_LIMIT];
    (void)snprintf(path, sizeof(path), "/v1.%u/images/%s?noprune=1", sweep->engine->facts.api, id);
    (void)ask(sweep, "DELETE", path, take_removal, sweep);
}

static void take_base(void *user, const struct engine_answer *answer)
{
    struct base_question *question = user;
    struct image_sweep *sweep = question->sweep;
    bool answered = answer->fault.problem == ENGINE_PROBLEM_NONE;
    json_auto_t *base = answered && answer->status == 200
                            ? json_loadb(answer->body, answer->length, 0, NULL)
                            : NULL;
    if ((answered && answer->status == 404) || (base && !derived_image_base_is_named(base)))
        remove_image(sweep, question->id);
    free(question);
    release(sweep);
}

static void ask_for_base(struct image_sweep *sweep, const char *id, const char *base)
{
    char path[PATH_LIMIT];
    struct base_question *question = calloc(1, sizeof(*question));
    if (!question)
        return;
    question->sweep = sweep;
    (void)snprintf(question->id, sizeof(question->id), "%s", id);
    (void)snprintf(path, sizeof(path), "/v1.%u/images/%s/json", sweep->engine->facts.api, base);
    if (!ask(sweep, "GET", path, take_base, question))
        free(question);
}

static bool is_of_known_guest(const struct image_store *store, const json_t *entry)
{
    for (size_t i = 0; i < GUEST_FILES_LIMIT; i++)
        if (store->guests[i].archive &&
            derived_image_is_of_guest(entry, store->guests[i].identity.digest))
            return true;
    return false;
}

static bool has_newer_twin(const json_t *list, const json_t *entry)
{
    size_t i;
    const json_t *other;
    json_array_foreach(list, i, other)
    {
        if (derived_image_is_ours(other) && derived_image_replaces(other, entry))
            return true;
    }
    return false;
}

static bool is_old_set(const struct image_sweep *sweep, const json_t *entry, const char *id)
{
    return !derived_image_has_packages(entry, NULL) &&
           derived_image_is_older(entry, (int64_t)time(NULL), PACKAGES_S) &&
           !image_store_knows(sweep->environment->images, sweep->engine, id);
}

static void judge(struct image_sweep *sweep, const json_t *list, const json_t *entry)
{
    const char *id = json_string_value(json_object_get(entry, "Id"));
    const char *base = derived_image_base(entry);
    if (!engine_image_id_is_good(id) || !derived_image_is_ours(entry) ||
        !derived_image_is_older(entry, (int64_t)time(NULL), LEAST_AGE_S))
        return;
    if (!is_of_known_guest(sweep->environment->images, entry) || has_newer_twin(list, entry) ||
        is_old_set(sweep, entry, id) || !engine_image_id_is_good(base))
        remove_image(sweep, id);
    else
        ask_for_base(sweep, id, base);
}

static void take_list(void *user, const struct engine_answer *answer)
{
    struct image_sweep *sweep = user;
    size_t i;
    const json_t *entry;
    json_auto_t *list = answer->fault.problem == ENGINE_PROBLEM_NONE && answer->status == 200
                            ? json_loadb(answer->body, answer->length, 0, NULL)
                            : NULL;
    json_array_foreach(list, i, entry)
    {
        judge(sweep, list, entry);
    }
    release(sweep);
}

bool image_sweep_start(struct docker_environment *environment, struct engine *engine,
                       image_sweep_done *done, void *user)
{
    char path[PATH_LIMIT];
    struct engine_fault fault; /* without a guest all images are of another one */
    struct image_sweep *sweep = malloc(sizeof(*sweep));
    if (!sweep)
        return false;
    *sweep = (struct image_sweep){environment, engine, done, user, .pending = 0};
    (void)image_store_guest(environment->images, guest_file_own_architecture, &fault);
    (void)snprintf(path, sizeof(path), LIST_PATH, engine->facts.api);
    if (ask(sweep, "GET", path, take_list, sweep))
        return true;
    free(sweep);
    return false;
}
