/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the chain of requests for one container: see docker_container.h. Runs in the docker
 * backend. */
#include "backends/docker/container/docker_container.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "backends/common/run_answer.h"
#include "backends/docker/container/container_config.h"
#include "backends/docker/image/image_store.h"
#include "base/cleanup.h"

#define REMOVE_TIME_MS 10000
#define PATH_LIMIT     256

enum request_kind {
    REQUEST_CREATE,
    REQUEST_READ_BACK,
    REQUEST_START,
    REQUEST_WAIT,
    REQUEST_READ_END,
    REQUEST_REMOVE,
};

static engine_done take_created, take_description, take_started, take_exit, take_end, take_removed;

/* The chain of requests; only attaching is docker_stream.c's. */
static const struct {
    const char *method;
    const char *path_before; /* the id or name, behind "/containers/" */
    const char *path_after;
    bool by_name;        /* which is known even where the answer to create never came */
    uint64_t timeout_ms; /* 0: no limit */
    engine_done *done;
} requests[] = {
    [REQUEST_CREATE] = {"POST", "create?name=", "", true, ENGINE_TIME_MS, take_created},
    [REQUEST_READ_BACK] = {"GET", "", "/json", false, ENGINE_TIME_MS, take_description},
    [REQUEST_START] = {"POST", "", "/start", false, ENGINE_TIME_MS, take_started},
    [REQUEST_WAIT] = {"POST", "", "/wait?condition=not-running", false, 0, take_exit},
    [REQUEST_READ_END] = {"GET", "", "/json", false, ENGINE_TIME_MS, take_end},
    [REQUEST_REMOVE] = {"DELETE", "", "?force=1&v=1", true, REMOVE_TIME_MS, take_removed},
};

_Static_assert(offsetof(struct docker_container, container) == 0, "one address");

struct docker_container *docker_container(struct container *container)
{
    return (struct docker_container *)container;
}

/* false when out of memory. */
static bool send_request(struct container *container, enum request_kind kind, const char *body)
{
    struct docker_container *own = docker_container(container);
    char path[PATH_LIMIT];
    struct engine_call **call = kind == REQUEST_WAIT ? &own->wait : &own->call;
    (void)snprintf(path, sizeof(path), "/v1.%u/containers/%s%s%s", own->api,
                   requests[kind].path_before, requests[kind].by_name ? container->name : own->id,
                   requests[kind].path_after);
    const struct engine_request request = {
        .address = &own->address,
        .method = requests[kind].method,
        .path = path,
        .body = body,
        .timeout_ms = requests[kind].timeout_ms,
        .done = requests[kind].done,
        .user = container,
    };
    *call = engine_call_start(docker_environment(container->environment)->client, &request);
    return *call != NULL;
}

/* The name is not made from a run's id: trials share one, and it is to say nothing about a run. */
static bool choose_name(struct container *container)
{
    uint64_t random[2];
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return false;
    (void)snprintf(container->name, sizeof(container->name),
                   CONTAINER_NAME_PREFIX "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
    return true;
}

static void ask_engine(struct container *container, enum request_kind kind)
{
    if (!send_request(container, kind, NULL))
        container_fail(container, "ask docker");
}

/* The answer's JSON object (new) where the status is the expected one; else NULL, and the container
 * has failed. */
static json_t *take_answer(struct container *container, const struct engine_answer *answer,
                           long expected, const char *what)
{
    struct engine_fault fault;
    json_t *json = engine_answer_take(answer, expected, container->engine->facts.name,
                                      docker_container(container)->id[0] == '\0', what, &fault);
    if (!json)
        container_fail_engine(container, &fault);
    return json;
}

static void take_description(void *user, const struct engine_answer *answer)
{
    struct container *container = user;
    docker_container(container)->call = NULL;
    json_auto_t *made = take_answer(container, answer, 200, "describe the container");
    struct engine_fault fault;
    char field[100];
    if (!made)
        return;
    if (!container_attest(docker_container(container)->config, made, field, sizeof(field))) {
        engine_fault_set(
            &fault, ENGINE_PROBLEM_ALTERED,
            "the container that docker made is not the one that was requested: %s differs", field);
        container_fail_engine(container, &fault);
    } else if (!container_stream_open(container)) {
        container_fail(container, "attach to the container");
    }
}

/* A warning says that something of the request has no effect. */
static bool has_warning(struct container *container, const json_t *made)
{
    const char *warning = json_string_value(json_array_get(json_object_get(made, "Warnings"), 0));
    struct engine_fault fault;
    if (!warning)
        return false;
    engine_fault_set(&fault, ENGINE_PROBLEM_NO_LIMITS, "docker warns: %.150s", warning);
    container_fail_engine(container, &fault);
    return true;
}

/* Conflict: the image is being removed. */
static bool is_image_gone(const struct engine_answer *answer)
{
    return answer->fault.problem == ENGINE_PROBLEM_NONE &&
           (answer->status == 404 || answer->status == 409);
}

static void fail_without_image(struct container *container, const struct engine_answer *answer)
{
    struct engine_fault fault;
    const char *image =
        json_string_value(json_object_get(docker_container(container)->config, "Image"));
    image_store_forget(docker_environment(container->environment), container->engine, image);
    engine_answer_refusal(answer, container->engine->facts.name, false, "create the container",
                          &fault);
    fault.problem = ENGINE_PROBLEM_IMAGE_GONE;
    container_fail_alone(container, RUN_FAILURE_BACKEND, &fault);
}

static void take_created(void *user, const struct engine_answer *answer)
{
    struct container *container = user;
    docker_container(container)->call = NULL;
    container->creating = false;
    if (container->removing) {
        container_remove(container);
        return;
    }
    if (is_image_gone(answer)) {
        fail_without_image(container, answer);
        return;
    }
    json_auto_t *made = take_answer(container, answer, 201, "create the container");
    const char *id = json_string_value(json_object_get(made, "Id"));
    if (!made || has_warning(container, made))
        return;
    if (!engine_id_is_good(id)) {
        struct engine_fault fault;
        engine_fault_set(&fault, ENGINE_PROBLEM_SILENT,
                         "docker did not report the id of the container");
        container_fail_engine(container, &fault);
        return;
    }
    memcpy(docker_container(container)->id, id, sizeof(docker_container(container)->id));
    ask_engine(container, REQUEST_READ_BACK);
}

static bool request_creation(struct container *container)
{
    CLEANUP_FREE char *body = json_dumps(docker_container(container)->config, JSON_COMPACT);
    container->creating =
        body && choose_name(container) && send_request(container, REQUEST_CREATE, body);
    return container->creating;
}

struct container *docker_container_make(struct docker_environment *environment,
                                        struct engine *engine, json_t *config,
                                        struct container_job *job, struct warm_pool *warm_pool)
{
    struct docker_container *own = calloc(1, sizeof(*own));
    if (!own) {
        json_decref(config);
        return NULL;
    }
    own->address = engine->address;
    own->api = engine->facts.api;
    own->config = config;
    container_begin(&own->container, &environment->guests, engine, job, warm_pool);
    if (!request_creation(&own->container)) {
        container_free(&own->container);
        return NULL;
    }
    container_add(&own->container);
    return &own->container;
}

static void take_exit(void *user, const struct engine_answer *answer)
{
    struct container *container = user;
    docker_container(container)->wait = NULL;
    json_auto_t *end = take_answer(container, answer, 200, "wait for the container");
    const json_t *status = json_object_get(end, "StatusCode");
    if (!end)
        return;
    if (!json_is_integer(status)) {
        struct engine_fault fault;
        engine_answer_refusal(answer, container->engine->facts.name, false,
                              "report how the container ended", &fault);
        container_fail_engine(container, &fault);
        return;
    }
    container->end.status = json_integer_value(status);
    container->waited = true;
    container_check_end(container);
}

static void take_started(void *user, const struct engine_answer *answer)
{
    struct container *container = user;
    struct engine_fault fault = answer->fault;
    docker_container(container)->call = NULL;
    /* 304: it runs already, as libcurl asks again where a connection broke before the answer. */
    if (fault.problem == ENGINE_PROBLEM_NONE && answer->status != 204 && answer->status != 304)
        engine_answer_refusal(answer, container->engine->facts.name, false, "start the container",
                              &fault);
    if (fault.problem != ENGINE_PROBLEM_NONE) {
        container_fail_engine(container, &fault);
        return;
    }
    container->running = true;
    ask_engine(container, REQUEST_WAIT);
}

void docker_container_start(struct container *container)
{
    ask_engine(container, REQUEST_START);
}

/* Where it fails, the result only lacks the reason. */
static void take_end(void *user, const struct engine_answer *answer)
{
    struct container *container = user;
    docker_container(container)->call = NULL;
    json_auto_t *made = json_loadb(answer->body, answer->length, 0, NULL);
    const json_t *state = json_object_get(made, "State");
    if (answer->fault.problem == ENGINE_PROBLEM_NONE && answer->status == 200)
        container->end.memory_killed =
            container->memory_killed || json_is_true(json_object_get(state, "OOMKilled"));
    container->looked = true;
    container_check_end(container);
}

void docker_container_read_end(struct container *container)
{
    ask_engine(container, REQUEST_READ_END);
}

static void take_removed(void *user, const struct engine_answer *answer)
{
    struct container *container = user;
    docker_container(container)->call = NULL;
    bool answered = answer->fault.problem == ENGINE_PROBLEM_NONE;
    if (answered && (answer->status == 204 || answer->status == 200 || answer->status == 404))
        container_removed(container);
    else
        container_not_removed(container);
}

bool docker_container_is_asking(const struct container *container)
{
    return ((const struct docker_container *)container)->call;
}

void docker_container_stop_asking(struct container *container)
{
    engine_call_cancel(TAKE_POINTER(docker_container(container)->call));
}

bool docker_container_remove(struct container *container)
{
    docker_container_stop_asking(container);
    engine_call_cancel(TAKE_POINTER(docker_container(container)->wait));
    return send_request(container, REQUEST_REMOVE, NULL);
}

bool docker_container_is_current(const struct container *container)
{
    const struct engine_address *made = &((const struct docker_container *)container)->address;
    const struct engine_address *now = &container->engine->address;
    return strcmp(made->socket_path, now->socket_path) == 0 && strcmp(made->base, now->base) == 0 &&
           strcmp(made->certificates, now->certificates) == 0;
}

void docker_container_free(struct container *container)
{
    struct docker_container *own = docker_container(container);
    engine_call_cancel(own->call);
    engine_call_cancel(own->wait);
    json_decref(own->config);
    explicit_bzero(own, sizeof(*own)); /* output of its program */
    free(own);
}
