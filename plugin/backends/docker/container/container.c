/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the chain of requests for one container: see container.h. Runs in the docker backend. */
#include "backends/docker/container/container.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "backends/common/run_answer.h"
#include "backends/docker/container/container_config.h"
#include "backends/docker/image/image_store.h"
#include "base/cleanup.h"

#define REMOVE_TIME_MS   10000
#define REMOVE_PAUSE_US  100000 /* between attempts: the engine may be removing it already */
#define REMOVE_ATTEMPTS  50
#define RETRIED_ATTEMPTS 10      /* for a run that waits for the removal */
#define STUCK_PAUSE_US   1000000 /* between attempts that no run waits for */
#define STREAM_REST_US   2000000 /* from the removal to the end of the stream */

enum request_kind {
    REQUEST_CREATE,
    REQUEST_READ_BACK,
    REQUEST_START,
    REQUEST_WAIT,
    REQUEST_READ_END,
    REQUEST_REMOVE,
};

static engine_done take_created, take_description, take_started, take_exit, take_end, take_removed;

/* The chain of requests; only attaching is container_stream.c's. */
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

/* false when out of memory. */
static bool send_request(struct container *container, enum request_kind kind, const char *body)
{
    char path[CONTAINER_PATH_LIMIT];
    struct engine_call **call = kind == REQUEST_WAIT ? &container->wait : &container->call;
    (void)snprintf(
        path, sizeof(path), "/v1.%u/containers/%s%s%s", container->api, requests[kind].path_before,
        requests[kind].by_name ? container->name : container->id, requests[kind].path_after);
    const struct engine_request request = {
        .address = &container->address,
        .method = requests[kind].method,
        .path = path,
        .body = body,
        .timeout_ms = requests[kind].timeout_ms,
        .done = requests[kind].done,
        .user = container,
    };
    *call = engine_call_start(container->environment->client, &request);
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

static void fail_container(struct container *container, enum run_failure failure,
                           const struct engine_fault *fault)
{
    if (container->warm_pool)
        container->environment->events->lost(container);
    if (container->job)
        container->environment->events->failed(container->job->run, failure, fault);
    else
        container_remove(container);
}

void container_fail(struct container *container, const char *message)
{
    struct engine_fault fault;
    engine_fault_set(&fault, ENGINE_PROBLEM_NONE, "%s", message);
    fail_container(container, RUN_FAILURE_INTERNAL, &fault);
}

void container_fail_engine(struct container *container, const struct engine_fault *fault)
{
    container->engine->known = false; /* whatever it was, look again */
    fail_container(container, RUN_FAILURE_BACKEND, fault);
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
                                      container->id[0] == '\0', what, &fault);
    if (!json)
        container_fail_engine(container, &fault);
    return json;
}

static void take_description(void *user, const struct engine_answer *answer)
{
    struct container *container = user;
    container->call = NULL;
    json_auto_t *made = take_answer(container, answer, 200, "describe the container");
    struct engine_fault fault;
    char field[100];
    if (!made)
        return;
    if (!container_attest(container->config, made, field, sizeof(field))) {
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
    const char *image = json_string_value(json_object_get(container->config, "Image"));
    image_store_forget(container->environment, container->engine, image);
    engine_answer_refusal(answer, container->engine->facts.name, false, "create the container",
                          &fault);
    fault.problem = ENGINE_PROBLEM_IMAGE_GONE;
    fail_container(container, RUN_FAILURE_BACKEND, &fault);
}

static void take_created(void *user, const struct engine_answer *answer)
{
    struct container *container = user;
    container->call = NULL;
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
    memcpy(container->id, id, sizeof(container->id));
    ask_engine(container, REQUEST_READ_BACK);
}

static bool request_creation(struct container *container)
{
    CLEANUP_FREE char *body = json_dumps(container->config, JSON_COMPACT);
    container->creating =
        body && choose_name(container) && send_request(container, REQUEST_CREATE, body);
    return container->creating;
}

/* At the end: a walk of the list that is under way meets it. */
static void add_last(struct docker_environment *environment, struct container *container)
{
    struct container **place = &environment->containers;
    while (*place)
        place = &(*place)->next;
    *place = container;
}

struct container *container_make(struct docker_environment *environment, struct engine *engine,
                                 json_t *config, struct container_job *job,
                                 struct warm_pool *warm_pool)
{
    struct container *container = calloc(1, sizeof(*container));
    if (!container) {
        json_decref(config);
        return NULL;
    }
    container->environment = environment;
    container->engine = engine;
    container->address = engine->address;
    container->api = engine->facts.api;
    container->job = job;
    container->warm_pool = warm_pool;
    container->warm = warm_pool != NULL;
    container->config = config;
    container->made_us = monotonic_us();
    container->deadline_us = warm_pool ? container->made_us + CONTAINER_START_LIMIT_US : 0;
    if (!request_creation(container)) {
        container_free(container);
        return NULL;
    }
    add_last(environment, container);
    return container;
}

static void take_exit(void *user, const struct engine_answer *answer)
{
    struct container *container = user;
    container->wait = NULL;
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
    container->call = NULL;
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

void container_start(struct container *container)
{
    ask_engine(container, REQUEST_START);
}

/* Where it fails, the result only lacks the reason. */
static void take_end(void *user, const struct engine_answer *answer)
{
    struct container *container = user;
    container->call = NULL;
    json_auto_t *made = json_loadb(answer->body, answer->length, 0, NULL);
    const json_t *state = json_object_get(made, "State");
    if (answer->fault.problem == ENGINE_PROBLEM_NONE && answer->status == 200)
        container->end.memory_killed =
            container->memory_killed || json_is_true(json_object_get(state, "OOMKilled"));
    container->looked = true;
    container_check_end(container);
}

void container_read_end(struct container *container)
{
    ask_engine(container, REQUEST_READ_END);
}

static void note_removal(struct container *container)
{
    container->removed = true;
    container->deadline_us = monotonic_us() + STREAM_REST_US;
    if (!container->stream.taken_over)
        container_stream_close(container);
    container_check_end(container);
}

/* Tells the run that waits for it. Attempts go on as long as there is a backend. */
static void give_up_removal(struct container *container)
{
    struct engine_fault fault;
    struct container_job *job = TAKE_POINTER(container->job);
    engine_fault_set(&fault, ENGINE_PROBLEM_SILENT, "docker does not remove the container %s",
                     container->name);
    container_stream_close(container);
    container->removed = container->environment->closing;
    container->deadline_us = monotonic_us() + STUCK_PAUSE_US;
    if (job)
        container->environment->events->gone(job->run, &fault);
}

static void take_removed(void *user, const struct engine_answer *answer)
{
    struct container *container = user;
    container->call = NULL;
    bool answered = answer->fault.problem == ENGINE_PROBLEM_NONE;
    if (answered && (answer->status == 204 || answer->status == 200 || answer->status == 404))
        note_removal(container);
    else if (++container->attempts < REMOVE_ATTEMPTS)
        container->deadline_us = monotonic_us() + REMOVE_PAUSE_US;
    else
        give_up_removal(container);
}

void container_remove(struct container *container)
{
    bool first = !container->removing;
    container->removing = true;
    if (container->removed || container->creating || (!first && container->call))
        return;
    engine_call_cancel(TAKE_POINTER(container->call));
    engine_call_cancel(TAKE_POINTER(container->wait));
    container->deadline_us = 0;
    if (!send_request(container, REQUEST_REMOVE, NULL))
        container->deadline_us = monotonic_us() + REMOVE_PAUSE_US;
}

void container_leave(struct container *container)
{
    container->job = NULL;
    if (container->warm_pool)
        container->environment->events->lost(container);
    container_stream_close(container);
    container_remove(container);
}

struct container *container_stuck(const struct docker_environment *environment,
                                  const struct engine *engine)
{
    for (struct container *container = environment->containers; container;
         container = container->next)
        if (container->engine == engine && !container->job && !container->removed &&
            container->attempts >= REMOVE_ATTEMPTS)
            return container;
    return NULL;
}

void container_retry(struct container *container, struct container_job *job)
{
    container->job = job;
    container->attempts = REMOVE_ATTEMPTS - RETRIED_ATTEMPTS;
    container_remove(container);
}

size_t container_count_leaving(const struct docker_environment *environment)
{
    size_t count = 0;
    for (const struct container *container = environment->containers; container;
         container = container->next)
        count += container->removing && !container->job;
    return count;
}

void container_handle(struct container *container)
{
    container_stream_handle(container);
    container_check_end(container);
}

void container_expire(struct container *container)
{
    container->deadline_us = 0;
    if (container->removed) {
        /* The engine has removed the container but not ended its stream. */
        container_stream_close(container);
        container_check_end(container);
    } else if (container->removing) {
        container_remove(container);
    } else {
        container_fail(container, "it has waited for too long");
    }
}

bool container_is_over(const struct container *container)
{
    return container->removed && !container->job;
}

void container_free(struct container *container)
{
    container_stream_close(container);
    engine_call_cancel(container->call);
    engine_call_cancel(container->wait);
    json_decref(container->config);
    explicit_bzero(container, sizeof(*container)); /* output of its program */
    free(container);
}
