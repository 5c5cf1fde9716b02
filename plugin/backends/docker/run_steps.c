/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the chain of requests that makes, attests, starts and removes one container:
 *   version, info (once an engine) -> image -> create -> read back -> attach -> start -> wait ->
 *   read the end -> remove
 * A failure or a kill at any place leads to remove. Runs in the docker backend.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../cleanup.h"
#include "container_attest.h"
#include "container_config.h"
#include "run_private.h"

#define PATH_LIMIT        512
#define REMOVE_TIME_MS    10000
#define REMOVE_PAUSE_US   100000 /* between attempts: the engine may be at it already */
#define REMOVE_ATTEMPTS   50
#define STREAM_REST_US    2000000 /* from the removal to the end of the stream */
#define LATEST_MARGIN_S   600
#define LATEST_NO_LIMIT_S 86400

static void ask(struct run *run, struct engine_call **slot, const char *method, const char *path,
                const char *body, uint64_t timeout_ms, engine_done *done)
{
    const struct engine_request request = {
        .address = &run->engine->address,
        .method = method,
        .path = path,
        .body = body,
        .timeout_ms = timeout_ms,
        .done = done,
        .user = run,
    };
    *slot = engine_call_start(run->environment->client, &request);
    if (!*slot)
        run_fail(run, RUN_FAILURE_INTERNAL, ENOMEM, "ask docker");
}

/* An answer that says no, in the engine's words. */
static void refused(struct run *run, const char *what, const struct engine_answer *answer)
{
    struct engine_fault fault;
    json_auto_t *json = json_loadb(answer->body, answer->length, 0, NULL);
    const char *message = json_string_value(json_object_get(json, "message"));
    engine_fault_set(&fault, ENGINE_PROBLEM_REFUSED, "docker refused to %s (%ld): %.120s", what,
                     answer->status, message ? message : "");
    for (char *c = fault.message; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = ' ';
    run_fail_engine(run, &fault);
}

/* The answer's JSON where it is the expected one; else NULL, and the run has failed. */
static json_t *take_answer(struct run *run, const struct engine_answer *answer, long expected,
                           const char *what)
{
    struct engine_fault fault;
    if (answer->fault.problem != ENGINE_PROBLEM_NONE) {
        run_fail_engine(run, &answer->fault);
        return NULL;
    }
    if (answer->status != expected) {
        refused(run, what, answer);
        return NULL;
    }
    json_t *json = json_loadb(answer->body, answer->length, 0, NULL);
    if (json_is_object(json))
        return json;
    json_decref(json);
    engine_fault_set(&fault, ENGINE_PROBLEM_SILENT, "docker's answer is no JSON object: %s", what);
    run_fail_engine(run, &fault);
    return NULL;
}

static void attested(struct run *run)
{
    if (!run_stream_open(run))
        run_fail(run, RUN_FAILURE_INTERNAL, ENOMEM, "attach to the container");
}

static void read_back(void *user, const struct engine_answer *answer)
{
    struct run *run = user;
    run->call = NULL;
    json_auto_t *made = take_answer(run, answer, 200, "describe the container");
    struct engine_fault fault;
    char field[100];
    if (!made)
        return;
    if (container_attest(run->config, made, field, sizeof(field))) {
        attested(run);
        return;
    }
    engine_fault_set(&fault, ENGINE_PROBLEM_ALTERED,
                     "the container that docker made is not the one asked for: %s differs", field);
    run_fail_engine(run, &fault);
}

/* A warning says that something of the request has no effect. */
static bool has_warning(struct run *run, const json_t *made)
{
    const char *warning = json_string_value(json_array_get(json_object_get(made, "Warnings"), 0));
    struct engine_fault fault;
    if (!warning)
        return false;
    engine_fault_set(&fault, ENGINE_PROBLEM_NO_LIMITS, "docker warns: %.150s", warning);
    run_fail_engine(run, &fault);
    return true;
}

static void created(void *user, const struct engine_answer *answer)
{
    struct run *run = user;
    char path[PATH_LIMIT];
    run->call = NULL;
    run->creating = false;
    if (run->removing) {
        run_remove(run);
        return;
    }
    json_auto_t *made = take_answer(run, answer, 201, "create the container");
    const char *id = json_string_value(json_object_get(made, "Id"));
    if (!made || has_warning(run, made))
        return;
    if (!engine_id_is_good(id)) {
        struct engine_fault fault;
        engine_fault_set(&fault, ENGINE_PROBLEM_SILENT, "docker tells no id of the container");
        run_fail_engine(run, &fault);
        return;
    }
    memcpy(run->id, id, sizeof(run->id));
    (void)snprintf(path, sizeof(path), "/v1.%u/containers/%s/json", run->engine->facts.api,
                   run->id);
    ask(run, &run->call, "GET", path, NULL, ENGINE_TIME_MS, read_back);
}

static json_t *make_config(struct run *run, const char *image_id)
{
    uint64_t wall_s = run->description.limits.wall_ms / 1000;
    int64_t latest = (int64_t)time(NULL) + LATEST_MARGIN_S +
                     (int64_t)(wall_s && wall_s < LATEST_NO_LIMIT_S ? wall_s : LATEST_NO_LIMIT_S);
    json_auto_t *labels = owner_labels(&run->environment->owner, run->description.run_id, latest);
    const struct container_wish wish = {
        .image = image_id,
        .limits = &run->description.limits,
        .labels = labels,
        .seccomp = run->environment->seccomp,
    };
    return labels ? container_config(&wish) : NULL;
}

static void create(struct run *run, const char *image_id)
{
    char path[PATH_LIMIT];
    run->config = make_config(run, image_id);
    CLEANUP_FREE char *body = run->config ? json_dumps(run->config, JSON_COMPACT) : NULL;
    if (!body) {
        run_fail(run, RUN_FAILURE_INTERNAL, ENOMEM, "make the container's configuration");
        return;
    }
    (void)snprintf(path, sizeof(path), "/v1.%u/containers/create?name=%s", run->engine->facts.api,
                   run->name);
    run->created = run->creating = true;
    ask(run, &run->call, "POST", path, body, ENGINE_TIME_MS, created);
    if (!run->call)
        run->creating = false;
}

static void image_found(void *user, const struct engine_answer *answer)
{
    struct run *run = user;
    struct engine_fault fault;
    const char *id;
    run->call = NULL;
    if (answer->fault.problem == ENGINE_PROBLEM_NONE && answer->status == 404) {
        engine_fault_set(&fault, ENGINE_PROBLEM_NO_IMAGE, "docker does not have the image %.120s",
                         run->description.image);
        run_fail_engine(run, &fault);
        return;
    }
    json_auto_t *image = take_answer(run, answer, 200, "describe the image");
    if (!image)
        return;
    if (engine_facts_of_image(image, run->description.image, &id, &fault))
        create(run, id);
    else
        run_fail_engine(run, &fault);
}

static void ask_for_image(struct run *run)
{
    char path[PATH_LIMIT];
    (void)snprintf(path, sizeof(path), "/v1.%u/images/%s/json", run->engine->facts.api,
                   run->description.image);
    ask(run, &run->call, "GET", path, NULL, ENGINE_TIME_MS, image_found);
}

static void info_known(void *user, const struct engine_answer *answer)
{
    struct run *run = user;
    struct engine_fault fault;
    run->call = NULL;
    json_auto_t *info = take_answer(run, answer, 200, "describe itself");
    if (!info)
        return;
    if (!engine_facts_of_info(info, &run->engine->facts, &fault)) {
        run_fail_engine(run, &fault);
        return;
    }
    run->engine->known = true;
    engine_sweep(run->environment, run->engine);
    ask_for_image(run);
}

static void version_known(void *user, const struct engine_answer *answer)
{
    struct run *run = user;
    struct engine_fault fault;
    char path[PATH_LIMIT];
    run->call = NULL;
    json_auto_t *version = take_answer(run, answer, 200, "tell its version");
    if (!version)
        return;
    if (!engine_facts_of_version(version, &run->engine->facts, &fault)) {
        run_fail_engine(run, &fault);
        return;
    }
    (void)snprintf(path, sizeof(path), "/v1.%u/info", run->engine->facts.api);
    ask(run, &run->call, "GET", path, NULL, ENGINE_TIME_MS, info_known);
}

void run_begin_steps(struct run *run)
{
    if (run->engine->known)
        ask_for_image(run);
    else
        ask(run, &run->call, "GET", "/version", NULL, ENGINE_TIME_MS, version_known);
}

static void ended(void *user, const struct engine_answer *answer)
{
    struct run *run = user;
    run->wait = NULL;
    json_auto_t *end = take_answer(run, answer, 200, "wait for the container");
    const json_t *status = json_object_get(end, "StatusCode");
    if (!end)
        return;
    if (!json_is_integer(status)) {
        refused(run, "tell how the container ended", answer);
        return;
    }
    run->end.status = json_integer_value(status);
    run->waited = true;
    run_check_end(run);
}

static void started(void *user, const struct engine_answer *answer)
{
    struct run *run = user;
    char path[PATH_LIMIT];
    run->call = NULL;
    if (answer->fault.problem != ENGINE_PROBLEM_NONE) {
        run_fail_engine(run, &answer->fault);
        return;
    }
    if (answer->status != 204) {
        refused(run, "start the container", answer);
        return;
    }
    (void)snprintf(path, sizeof(path), "/v1.%u/containers/%s/wait?condition=not-running",
                   run->engine->facts.api, run->id);
    ask(run, &run->wait, "POST", path, NULL, 0, ended);
}

void run_start_container(struct run *run)
{
    char path[PATH_LIMIT];
    (void)snprintf(path, sizeof(path), "/v1.%u/containers/%s/start", run->engine->facts.api,
                   run->id);
    ask(run, &run->call, "POST", path, NULL, ENGINE_TIME_MS, started);
}

/* The last look: an engine that cannot tell any more takes nothing from the result but the reason.
 */
static void end_known(void *user, const struct engine_answer *answer)
{
    struct run *run = user;
    run->call = NULL;
    json_auto_t *container = json_loadb(answer->body, answer->length, 0, NULL);
    const json_t *state = json_object_get(container, "State");
    if (answer->fault.problem == ENGINE_PROBLEM_NONE && answer->status == 200)
        run->end.memory_killed = json_is_true(json_object_get(state, "OOMKilled"));
    run_remove(run);
}

void run_inspect_end(struct run *run)
{
    char path[PATH_LIMIT];
    if (run->call)
        return;
    run->deadline_us = 0;
    (void)snprintf(path, sizeof(path), "/v1.%u/containers/%s/json", run->engine->facts.api,
                   run->id);
    ask(run, &run->call, "GET", path, NULL, ENGINE_TIME_MS, end_known);
}

static void gone(struct run *run)
{
    run->removed = true;
    run->deadline_us = monotonic_us() + STREAM_REST_US;
    if (!run->stream.taken_over)
        run_stream_close(run);
    run_check_end(run);
}

static void removed(void *user, const struct engine_answer *answer)
{
    struct run *run = user;
    run->call = NULL;
    bool answered = answer->fault.problem == ENGINE_PROBLEM_NONE;
    if (answered && (answer->status == 204 || answer->status == 200 || answer->status == 404)) {
        gone(run);
    } else if (++run->attempts < REMOVE_ATTEMPTS) {
        run->deadline_us = monotonic_us() + REMOVE_PAUSE_US;
    } else {
        struct engine_fault fault;
        engine_fault_set(&fault, ENGINE_PROBLEM_SILENT, "docker does not remove the container %s",
                         run->name);
        run->killed = false;
        run->removed = true;
        run_fail_engine(run, &fault);
        gone(run);
    }
}

/* By its name, which is known even where the answer to create never came. */
void run_remove(struct run *run)
{
    char path[PATH_LIMIT];
    bool first = !run->removing;
    run->removing = true;
    if (run->removed || run->creating || (!first && run->call))
        return;
    engine_call_cancel(TAKE_POINTER(run->call));
    engine_call_cancel(TAKE_POINTER(run->wait));
    run->deadline_us = 0;
    if (!run->created) {
        gone(run);
        return;
    }
    (void)snprintf(path, sizeof(path), "/v1.%u/containers/%s?force=1&v=1", run->engine->facts.api,
                   run->name);
    const struct engine_request request = {
        .address = &run->engine->address,
        .method = "DELETE",
        .path = path,
        .timeout_ms = REMOVE_TIME_MS,
        .done = removed,
        .user = run,
    };
    run->call = engine_call_start(run->environment->client, &request);
    if (!run->call)
        run->deadline_us = monotonic_us() + REMOVE_PAUSE_US;
}
