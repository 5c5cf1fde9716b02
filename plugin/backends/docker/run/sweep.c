/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the sweep: see sweep.h. Runs in the docker backend. */
#include "backends/docker/run/sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "backends/docker/image/image_store.h"
#include "base/cleanup.h"

#define REMOVE_TIME_MS 60000
#define PATH_LIMIT     256

/* {"label":["code-execute.boot"]} */
#define LIST_PATH                                                                         \
    "/v1.%u/containers/json?all=1&filters=%%7B%%22label%%22%%3A%%5B%%22" OWNER_LABEL_BOOT \
    "%%22%%5D%%7D"

struct sweep {
    struct docker_environment *environment;
    struct engine *engine;
    sweep_done *done;
    void *user;
    size_t pending; /* removals under way, one for the list itself, and one for the images */
    struct sweep_result result;
};

static void release_sweep(struct sweep *sweep)
{
    if (--sweep->pending > 0)
        return;
    if (sweep->done)
        sweep->done(sweep->user, &sweep->result);
    free(sweep);
}

static void count_removal(void *user, const struct engine_answer *answer)
{
    struct sweep *sweep = user;
    bool gone = answer->fault.problem == ENGINE_PROBLEM_NONE &&
                (answer->status == 204 || answer->status == 200 || answer->status == 404);
    if (gone)
        sweep->result.removed++;
    else
        sweep->result.left++; /* met by the next sweep */
    release_sweep(sweep);
}

static void remove_stray(struct sweep *sweep, const char *id)
{
    char path[PATH_LIMIT];
    (void)snprintf(path, sizeof(path), "/v1.%u/containers/%s?force=1&v=1", sweep->engine->facts.api,
                   id);
    const struct engine_request request = {
        .address = &sweep->engine->address,
        .method = "DELETE",
        .path = path,
        .timeout_ms = REMOVE_TIME_MS,
        .done = count_removal,
        .user = sweep,
    };
    if (engine_call_start(sweep->environment->client, &request))
        sweep->pending++;
    else
        sweep->result.left++;
}

static void remove_strays(struct sweep *sweep, const json_t *list)
{
    size_t i;
    const json_t *container;
    json_array_foreach(list, i, container)
    {
        const char *id = json_string_value(json_object_get(container, "Id"));
        if (engine_id_is_good(id) &&
            owner_is_stray(json_object_get(container, "Labels"), &sweep->environment->owner,
                           (int64_t)time(NULL), owner_look))
            remove_stray(sweep, id);
    }
}

static void take_list(void *user, const struct engine_answer *answer)
{
    struct sweep *sweep = user;
    json_auto_t *list = answer->fault.problem == ENGINE_PROBLEM_NONE && answer->status == 200
                            ? json_loadb(answer->body, answer->length, 0, NULL)
                            : NULL;
    if (json_is_array(list)) {
        remove_strays(sweep, list);
    } else {
        sweep->engine->swept = false; /* the next run tries again */
        sweep->result.fault = answer->fault;
        if (answer->fault.problem == ENGINE_PROBLEM_NONE)
            engine_fault_set(&sweep->result.fault, ENGINE_PROBLEM_REFUSED,
                             "docker refused to list its containers (%ld)", answer->status);
    }
    release_sweep(sweep);
}

static void take_swept_images(void *user)
{
    release_sweep(user);
}

struct sweep *sweep_start(struct docker_environment *environment, struct engine *engine,
                          sweep_done *done, void *user)
{
    struct sweep *sweep = malloc(sizeof(*sweep));
    if (!sweep)
        return NULL;
    *sweep = (struct sweep){environment, engine, done, user, .pending = 1};
    char path[PATH_LIMIT];
    (void)snprintf(path, sizeof(path), LIST_PATH, engine->facts.api);
    const struct engine_request request = {
        .address = &engine->address,
        .method = "GET",
        .path = path,
        .timeout_ms = ENGINE_TIME_MS,
        .done = take_list,
        .user = sweep,
    };
    engine->swept = engine_call_start(environment->client, &request) != NULL;
    if (!engine->swept) {
        free(sweep);
        return NULL;
    }
    if (image_sweep_start(environment, engine, take_swept_images, sweep))
        sweep->pending++;
    return sweep;
}

void sweep_disown(struct sweep *sweep)
{
    if (sweep)
        sweep->done = NULL;
}
