/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the chain of requests that makes, attests, starts and removes one container:
 *   version, info (once an engine) -> network, if any -> image (run_image.c) -> create -> read back
 *   -> attach -> start -> wait -> read the end -> remove
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

#define REMOVE_TIME_MS  10000
#define REMOVE_PAUSE_US 100000 /* between attempts: the engine may be at it already */
#define REMOVE_ATTEMPTS 50
#define REFUSAL_BEGIN   70 /* bytes of an engine's message */
#define REFUSAL_END     100
#define STREAM_REST_US  2000000 /* from the removal to the end of the stream */

void run_ask(struct run *run, struct engine_call **slot, const char *method, const char *path,
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
    size_t length = message ? strlen(message) : 0;
    bool cut = length > REFUSAL_BEGIN + REFUSAL_END;
    /* Podman's answer to what its API does not have. */
    const char *name = run->engine->facts.name[0] ? run->engine->facts.name : "docker";
    bool unfit = strcmp(name, "podman") == 0 && run->created && run->id[0] == '\0';
    /* An engine wraps its reason into where it was met: it stands at the end. */
    engine_fault_set(&fault, unfit ? ENGINE_PROBLEM_UNFIT : ENGINE_PROBLEM_REFUSED,
                     "%s refused to %s (%ld): %.*s%s%s", name, what, answer->status,
                     cut ? REFUSAL_BEGIN : (int)length, message ? message : "", cut ? " ... " : "",
                     cut ? message + length - REFUSAL_END : "");
    for (char *c = fault.message; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = ' ';
    run_fail_engine(run, &fault);
}

json_t *run_take_answer(struct run *run, const struct engine_answer *answer, long expected,
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
    json_auto_t *made = run_take_answer(run, answer, 200, "describe the container");
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
    char path[RUN_PATH_LIMIT];
    run->call = NULL;
    run->creating = false;
    if (run->removing) {
        run_remove(run);
        return;
    }
    json_auto_t *made = run_take_answer(run, answer, 201, "create the container");
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
    run_ask(run, &run->call, "GET", path, NULL, ENGINE_TIME_MS, read_back);
}

void run_create_container(struct run *run, const char *image_id)
{
    char path[RUN_PATH_LIMIT];
    const struct docker_environment *environment = run->environment;
    run->config = container_config_for_run(&run->description, image_id, &environment->owner,
                                           environment->seccomp, (int64_t)time(NULL));
    CLEANUP_FREE char *body = run->config ? json_dumps(run->config, JSON_COMPACT) : NULL;
    if (!body) {
        run_fail(run, RUN_FAILURE_INTERNAL, ENOMEM, "make the container's configuration");
        return;
    }
    (void)snprintf(path, sizeof(path), "/v1.%u/containers/create?name=%s", run->engine->facts.api,
                   run->name);
    run->created = run->creating = true;
    run_ask(run, &run->call, "POST", path, body, ENGINE_TIME_MS, created);
    if (!run->call)
        run->creating = false;
}

static void network_known(void *user, const struct engine_answer *answer)
{
    struct run *run = user;
    struct engine_fault fault;
    run->call = NULL;
    if (answer->fault.problem == ENGINE_PROBLEM_NONE && answer->status == 404) {
        engine_fault_set(&fault, ENGINE_PROBLEM_NO_NETWORK, "docker has no network \"bridge\"");
        run_fail_engine(run, &fault);
        return;
    }
    json_auto_t *network = run_take_answer(run, answer, 200, "describe its bridge");
    if (network)
        run_ask_for_image(run);
}

static void swept(void *user, const struct sweep_result *result)
{
    struct run *run = user;
    run->sweep = NULL;
    if (result->fault.problem != ENGINE_PROBLEM_NONE) {
        run_fail_engine(run, &result->fault);
        return;
    }
    run->event.cause = RUN_CAUSE_EXIT;
    run->event.exit_code = 0;
    run->event.swept = result->removed;
    run->event.unswept = result->left;
    run_remove(run);
}

static bool workspace_is_in_reach(struct run *run)
{
    struct engine_fault fault;
    if (run->description.workspace[0] == '\0' || run->engine->address.socket_path[0] != '\0')
        return true;
    engine_fault_set(&fault, ENGINE_PROBLEM_WORKSPACE,
                     "the engine is on another machine, which does not have the workspace");
    run_fail_engine(run, &fault);
    return false;
}

static void fill_report(const struct run *run, struct engine_report *report)
{
    const struct engine_facts *facts = &run->engine->facts;
    const char *runtime = run->description.docker.runtime;
    (void)snprintf(report->name, sizeof(report->name), "%s", facts->name);
    (void)snprintf(report->version, sizeof(report->version), "%s", facts->version);
    (void)snprintf(report->api, sizeof(report->api), "1.%u", facts->api);
    (void)snprintf(report->runtime, sizeof(report->runtime), "%.63s",
                   runtime[0] ? runtime : facts->runtime);
    engine_facts_runtime_version(facts, runtime, report->runtime_version,
                                 sizeof(report->runtime_version));
    report->rootless = facts->rootless;
    report->user_namespace = facts->user_namespace;
}

/* The engine is known: now this run's own questions. */
static void begin_with_engine(struct run *run)
{
    char path[RUN_PATH_LIMIT];
    struct engine_fault fault;
    fill_report(run, &run->event.engine);
    if (run->description.purpose == RUN_PURPOSE_SWEEP) {
        run->sweep = sweep_start(run->environment, run->engine, swept, run);
        if (!run->sweep)
            run_fail(run, RUN_FAILURE_INTERNAL, ENOMEM, "begin the sweep");
        return;
    }
    if (!run->engine->swept)
        (void)sweep_start(run->environment, run->engine, NULL, NULL);
    if (!engine_facts_have_runtime(&run->engine->facts, run->description.docker.runtime, &fault)) {
        run_fail_engine(run, &fault);
        return;
    }
    if (!workspace_is_in_reach(run))
        return;
    if (!run->description.network) {
        run_ask_for_image(run);
        return;
    }
    (void)snprintf(path, sizeof(path), "/v1.%u/networks/bridge", run->engine->facts.api);
    run_ask(run, &run->call, "GET", path, NULL, ENGINE_TIME_MS, network_known);
}

static void info_known(void *user, const struct engine_answer *answer)
{
    struct run *run = user;
    struct engine_fault fault;
    run->call = NULL;
    json_auto_t *info = run_take_answer(run, answer, 200, "describe itself");
    if (!info)
        return;
    if (!engine_facts_of_info(info, &run->engine->facts, &fault)) {
        run_fail_engine(run, &fault);
        return;
    }
    run->engine->known = true;
    begin_with_engine(run);
}

static void version_known(void *user, const struct engine_answer *answer)
{
    struct run *run = user;
    struct engine_fault fault;
    char path[RUN_PATH_LIMIT];
    run->call = NULL;
    json_auto_t *version = run_take_answer(run, answer, 200, "tell its version");
    if (!version)
        return;
    if (!engine_facts_of_version(version, &run->engine->facts, &fault)) {
        run_fail_engine(run, &fault);
        return;
    }
    (void)snprintf(path, sizeof(path), "/v1.%u/info", run->engine->facts.api);
    run_ask(run, &run->call, "GET", path, NULL, ENGINE_TIME_MS, info_known);
}

void run_begin_steps(struct run *run)
{
    if (run->engine->known)
        begin_with_engine(run);
    else
        run_ask(run, &run->call, "GET", "/version", NULL, ENGINE_TIME_MS, version_known);
}

static void ended(void *user, const struct engine_answer *answer)
{
    struct run *run = user;
    run->wait = NULL;
    json_auto_t *end = run_take_answer(run, answer, 200, "wait for the container");
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
    char path[RUN_PATH_LIMIT];
    run->call = NULL;
    if (answer->fault.problem != ENGINE_PROBLEM_NONE) {
        run_fail_engine(run, &answer->fault);
        return;
    }
    /* 304: it runs already, as libcurl asks again where a connection broke before the answer. */
    if (answer->status != 204 && answer->status != 304) {
        refused(run, "start the container", answer);
        return;
    }
    (void)snprintf(path, sizeof(path), "/v1.%u/containers/%s/wait?condition=not-running",
                   run->engine->facts.api, run->id);
    run_ask(run, &run->wait, "POST", path, NULL, 0, ended);
}

void run_start_container(struct run *run)
{
    char path[RUN_PATH_LIMIT];
    (void)snprintf(path, sizeof(path), "/v1.%u/containers/%s/start", run->engine->facts.api,
                   run->id);
    run_ask(run, &run->call, "POST", path, NULL, ENGINE_TIME_MS, started);
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
    char path[RUN_PATH_LIMIT];
    if (run->call)
        return;
    run->deadline_us = 0;
    (void)snprintf(path, sizeof(path), "/v1.%u/containers/%s/json", run->engine->facts.api,
                   run->id);
    run_ask(run, &run->call, "GET", path, NULL, ENGINE_TIME_MS, end_known);
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
    char path[RUN_PATH_LIMIT];
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
