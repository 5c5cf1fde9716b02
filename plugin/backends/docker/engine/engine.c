/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the table of engines: see engine.h. Runs in the docker backend. */
#include "backends/docker/engine/engine.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

_Static_assert(offsetof(struct docker_environment, guests) == 0, "one address");

struct docker_environment *docker_environment(struct guest_environment *guests)
{
    return (struct docker_environment *)guests;
}

/* NULL when out of memory. */
static char *key_of(const struct docker_options *options)
{
    char *key = NULL;
    if (asprintf(&key, "%s\n%s\n%s\n%s\n%u", options->host, options->context,
                 options->config_directory, options->certificates, options->tls) < 0)
        return NULL;
    return key;
}

static struct engine *find_by_key(struct docker_environment *environment, const char *key)
{
    for (size_t i = 0; i < environment->engine_count; i++)
        if (strcmp(environment->engines[i].key, key) == 0)
            return &environment->engines[i];
    return NULL;
}

struct engine *engine_find(struct docker_environment *environment,
                           const struct docker_options *options, struct engine_fault *fault)
{
    CLEANUP_FREE char *key = key_of(options);
    struct engine *engine = key ? find_by_key(environment, key) : NULL;
    if (engine && engine->known)
        return engine;
    if (!key || (!engine && environment->engine_count == ENGINES_LIMIT)) {
        engine_fault_set(fault, ENGINE_PROBLEM_ADDRESS, "more than %d engines are in use",
                         ENGINES_LIMIT);
        return NULL;
    }
    /* Searched anew: the usual sockets may have changed. */
    struct engine_address address;
    if (!engine_address_resolve(options, &address, fault))
        return NULL;
    if (!engine) {
        engine = &environment->engines[environment->engine_count++];
        engine->key = TAKE_POINTER(key);
        engine->environment = environment;
    }
    engine->address = address;
    return engine;
}

void engine_clear_all(struct docker_environment *environment)
{
    for (size_t i = 0; i < environment->engine_count; i++) {
        engine_call_cancel(environment->engines[i].oom_events);
        engine_facts_clear(&environment->engines[i].facts);
        free(environment->engines[i].key);
    }
    environment->engine_count = 0;
}
