/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the connection that listens for kills for memory: see docker_container.h. Runs in the docker
 * backend. */
#include <stdio.h>
#include <string.h>

#include "backends/docker/container/docker_container.h"

#define PATH_LIMIT 256

/* {"type":["container"],"event":["oom"],"label":["code-execute.pid=PID"]}: this backend's
 * containers */
#define EVENTS_PATH                                                                              \
    "/v1.%u/events?filters=%%7B%%22type%%22%%3A%%5B%%22container%%22%%5D%%2C%%22event%%22%%3A%%" \
    "5B%%22oom%%22%%5D%%2C%%22label%%22%%3A%%5B%%22" OWNER_LABEL_PID "%%3D%lld%%22%%5D%%7D"

static void take_event(void *user, const char *bytes, size_t length)
{
    const struct engine *engine = user;
    json_auto_t *event = json_loadb(bytes, length, 0, NULL);
    const char *action = json_string_value(json_object_get(event, "Action"));
    const char *id = json_string_value(json_object_get(json_object_get(event, "Actor"), "ID"));
    if (!action || strcmp(action, "oom") != 0 || !engine_id_is_good(id))
        return;
    for (struct container *container = engine->environment->guests.containers; container;
         container = container->next)
        if (strcmp(docker_container(container)->id, id) == 0)
            container->memory_killed = true;
}

static void take_end_of_events(void *user, const struct engine_answer *answer)
{
    struct engine *engine = user;
    (void)answer;
    engine->oom_events = NULL;
}

void oom_watch_begin(struct engine *engine)
{
    char path[PATH_LIMIT];
    if (engine->oom_events)
        return;
    (void)snprintf(path, sizeof(path), EVENTS_PATH, engine->facts.api,
                   (long long)engine->environment->owner.pid);
    const struct engine_request request = {
        .address = &engine->address,
        .method = "GET",
        .path = path,
        .line = take_event,
        .done = take_end_of_events,
        .user = engine,
    };
    engine->oom_events = engine_call_start(engine->environment->client, &request);
}
