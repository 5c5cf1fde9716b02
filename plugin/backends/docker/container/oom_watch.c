/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the connection that listens for kills for memory: see container.h. Runs in the docker
 * backend. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/docker/container/container.h"
#include "base/cleanup.h"

#define PATH_LIMIT 256

/* {"type":["container"],"event":["oom"],"label":["code-execute.pid=PID"]}: this backend's
 * containers */
#define EVENTS_PATH                                                                              \
    "/v1.%u/events?filters=%%7B%%22type%%22%%3A%%5B%%22container%%22%%5D%%2C%%22event%%22%%3A%%" \
    "5B%%22oom%%22%%5D%%2C%%22label%%22%%3A%%5B%%22" OWNER_LABEL_PID "%%3D%lld%%22%%5D%%7D"

struct oom_watch {
    struct docker_environment *environment;
    struct engine *engine;
    struct engine_call *call;
};

static void note_kill(const struct oom_watch *watch, const char *id)
{
    struct container *container = watch->environment->containers;
    while (container && strcmp(container->id, id) != 0)
        container = container->next;
    if (container)
        container->memory_killed = true;
}

static void take_event(void *user, const char *bytes, size_t length)
{
    const struct oom_watch *watch = user;
    json_auto_t *event = json_loadb(bytes, length, 0, NULL);
    const char *action = json_string_value(json_object_get(event, "Action"));
    const json_t *actor = json_object_get(event, "Actor");
    const char *id = json_string_value(json_object_get(actor, "ID"));
    if (action && strcmp(action, "oom") == 0 && engine_id_is_good(id))
        note_kill(watch, id);
}

static void take_end_of_events(void *user, const struct engine_answer *answer)
{
    struct oom_watch *watch = user;
    (void)answer;
    watch->engine->oom_watch = NULL;
    free(watch);
}

void oom_watch_begin(struct docker_environment *environment, struct engine *engine)
{
    char path[PATH_LIMIT];
    if (engine->oom_watch)
        return;
    struct oom_watch *watch = malloc(sizeof(*watch));
    if (!watch)
        return;
    (void)snprintf(path, sizeof(path), EVENTS_PATH, engine->facts.api,
                   (long long)environment->owner.pid);
    const struct engine_request request = {
        .address = &engine->address,
        .method = "GET",
        .path = path,
        .line = take_event,
        .done = take_end_of_events,
        .user = watch,
    };
    *watch =
        (struct oom_watch){environment, engine, engine_call_start(environment->client, &request)};
    if (watch->call)
        engine->oom_watch = watch;
    else
        free(watch);
}

static void end_watch(struct engine *engine)
{
    struct oom_watch *watch = TAKE_POINTER(engine->oom_watch);
    if (!watch)
        return;
    engine_call_cancel(watch->call);
    free(watch);
}

void oom_watches_end(struct docker_environment *environment)
{
    for (size_t i = 0; i < environment->engine_count; i++)
        end_watch(&environment->engines[i]);
}
