/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the table of engines and the sweep: see engine.h. Runs in the docker backend. */
#include "engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../cleanup.h"

#define REMOVE_TIME_MS 60000

/* {"label":["code-execute.boot"]} */
#define SWEEP_PATH                                                                        \
    "/v1.%u/containers/json?all=1&filters=%%7B%%22label%%22%%3A%%5B%%22" OWNER_LABEL_BOOT \
    "%%22%%5D%%7D"

struct sweep {
    struct docker_environment *environment;
    struct engine *engine;
};

struct engine *engine_find(struct docker_environment *environment, const char *text,
                           struct engine_fault *fault)
{
    for (size_t i = 0; i < environment->engine_count; i++)
        if (strcmp(environment->engines[i].text, text) == 0 && environment->engines[i].known)
            return &environment->engines[i];
    struct engine *engine = NULL;
    for (size_t i = 0; i < environment->engine_count && !engine; i++)
        if (strcmp(environment->engines[i].text, text) == 0)
            engine = &environment->engines[i];
    if (!engine && environment->engine_count == ENGINES_LIMIT) {
        engine_fault_set(fault, ENGINE_PROBLEM_ADDRESS, "more than %d engines", ENGINES_LIMIT);
        return NULL;
    }
    /* Looked for anew: "" may have another answer since. */
    struct engine_address address;
    if (!engine_address_resolve(text, &address, fault))
        return NULL;
    if (!engine) {
        engine = &environment->engines[environment->engine_count++];
        (void)snprintf(engine->text, sizeof(engine->text), "%s", text);
    }
    engine->address = address;
    return engine;
}

static void removed(void *user, const struct engine_answer *answer)
{
    (void)user;
    (void)answer; /* whoever cannot be removed now is met by the next sweep */
}

static void remove_stray(const struct sweep *sweep, const char *id)
{
    char path[160];
    (void)snprintf(path, sizeof(path), "/v1.%u/containers/%s?force=1&v=1", sweep->engine->facts.api,
                   id);
    const struct engine_request request = {
        .address = &sweep->engine->address,
        .method = "DELETE",
        .path = path,
        .timeout_ms = REMOVE_TIME_MS,
        .done = removed,
    };
    (void)engine_call_start(sweep->environment->client, &request);
}

static void take_list(void *user, const struct engine_answer *answer)
{
    CLEANUP_FREE struct sweep *sweep = user;
    if (answer->fault.problem != ENGINE_PROBLEM_NONE || answer->status != 200) {
        sweep->engine->swept = false;
        return;
    }
    json_auto_t *list = json_loadb(answer->body, answer->length, 0, NULL);
    bool local = sweep->engine->address.socket_path[0] != '\0';
    size_t i;
    const json_t *container;
    json_array_foreach(list, i, container)
    {
        const char *id = json_string_value(json_object_get(container, "Id"));
        if (engine_id_is_good(id) &&
            owner_is_stray(json_object_get(container, "Labels"), &sweep->environment->owner, local,
                           (int64_t)time(NULL), owner_read_start))
            remove_stray(sweep, id);
    }
}

void engine_sweep(struct docker_environment *environment, struct engine *engine)
{
    if (engine->swept)
        return;
    struct sweep *sweep = malloc(sizeof(*sweep));
    if (!sweep)
        return;
    *sweep = (struct sweep){environment, engine};
    char path[256];
    (void)snprintf(path, sizeof(path), SWEEP_PATH, engine->facts.api);
    const struct engine_request request = {
        .address = &engine->address,
        .method = "GET",
        .path = path,
        .timeout_ms = ENGINE_TIME_MS,
        .done = take_list,
        .user = sweep,
    };
    engine->swept = engine_call_start(environment->client, &request) != NULL;
    if (!engine->swept)
        free(sweep);
}
