/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns a run's questions to the engine before there is a container:
 *   version, info (once an engine) -> network, if any -> image (run_image.c) -> a container
 * Runs in the docker backend.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/docker/container/container_config.h"
#include "backends/docker/pool/pool.h"
#include "backends/docker/run/run_private.h"
#include "base/cleanup.h"

void run_ask(struct run *run, const char *path, engine_done *done)
{
    const struct engine_request request = {
        .address = &run->engine->address,
        .method = "GET",
        .path = path,
        .timeout_ms = ENGINE_TIME_MS,
        .done = done,
        .user = run,
    };
    run->call = engine_call_start(run->environment->client, &request);
    if (!run->call)
        run_fail(run, RUN_FAILURE_INTERNAL, ENOMEM, "ask docker");
}

json_t *run_take_answer(struct run *run, const struct engine_answer *answer, long expected,
                        const char *what)
{
    struct engine_fault fault;
    json_t *json =
        engine_answer_take(answer, expected, run->engine->facts.name, false, what, &fault);
    if (!json)
        run_fail_engine(run, &fault);
    return json;
}

void run_make_container(struct run *run)
{
    const struct docker_environment *environment = run->environment;
    json_t *config =
        container_config_for_run(&run->description, run->options.runtime, run->image_id,
                                 &environment->owner, environment->seccomp, (int64_t)time(NULL));
    if (config && engine_facts_runtime_is_gvisor(&run->engine->facts, run->options.runtime) &&
        !container_config_suit_gvisor(config, &run->description.limits))
        json_decref(TAKE_POINTER(config));
    run->container =
        config ? container_make(run->environment, run->engine, config, &run->job, NULL) : NULL;
    if (!run->container)
        run_fail(run, RUN_FAILURE_INTERNAL, ENOMEM, "make the container");
}

void run_get_container(struct run *run)
{
    if (run->job.session) { /* one that waits has no place for cells */
        run_make_container(run);
        return;
    }
    run->container = pool_take(run->environment, run->engine, &run->description,
                               run->options.runtime, run->image_id, &run->job);
    if (!run->container) {
        run_make_container(run);
        return;
    }
    run_check_guest(run);
    container_stream_handle(run->container);
}

static void take_network_answer(void *user, const struct engine_answer *answer)
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

static void take_sweep_result(void *user, const struct sweep_result *result)
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
    run_conclude(run);
}

static void write_report(struct run *run)
{
    const struct engine_facts *facts = &run->engine->facts;
    const char *runtime = run->options.runtime;
    struct engine_report report = {.rootless = facts->rootless,
                                   .user_namespace = facts->user_namespace};
    (void)snprintf(report.name, sizeof(report.name), "%s", facts->name);
    (void)snprintf(report.version, sizeof(report.version), "%s", facts->version);
    (void)snprintf(report.api, sizeof(report.api), "1.%u", facts->api);
    (void)snprintf(report.runtime, sizeof(report.runtime), "%.63s",
                   runtime[0] ? runtime : facts->runtime);
    engine_facts_runtime_version(facts, runtime, report.runtime_version,
                                 sizeof(report.runtime_version));
    engine_report_write(&report, &run->event.details);
}

/* The engine is known: now this run's own questions. */
void run_go_on_with_engine(struct run *run)
{
    char path[RUN_PATH_LIMIT];
    struct engine_fault fault;
    if (run->description.purpose == RUN_PURPOSE_SWEEP) {
        run->sweep = sweep_start(run->environment, run->engine, take_sweep_result, run);
        if (!run->sweep)
            run_fail(run, RUN_FAILURE_INTERNAL, ENOMEM, "begin the sweep");
        return;
    }
    if (!run->engine->swept)
        (void)sweep_start(run->environment, run->engine, NULL, NULL);
    oom_watch_begin(run->engine);
    if (!engine_facts_have_runtime(&run->engine->facts, run->options.runtime, &fault)) {
        run_fail_engine(run, &fault);
        return;
    }
    if (!run->description.network) {
        run_ask_for_image(run);
        return;
    }
    (void)snprintf(path, sizeof(path), "/v1.%u/networks/bridge", run->engine->facts.api);
    run_ask(run, path, take_network_answer);
}

/* A container that the engine did not remove comes first, so that containers cannot pile up
 * unreported. */
static void begin_with_engine(struct run *run)
{
    struct container *stuck = container_stuck(run->environment, run->engine);
    write_report(run);
    if (!stuck) {
        run_go_on_with_engine(run);
        return;
    }
    run->clearing = true;
    run->container = stuck;
    container_retry(stuck, &run->job);
}

static void take_info_answer(void *user, const struct engine_answer *answer)
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
    /* Runs that began at once ask at once: the first answer is the new look at the engine. */
    if (!run->engine->known)
        image_store_forget(run->environment, run->engine, NULL);
    run->engine->known = true;
    begin_with_engine(run);
}

static void take_version_answer(void *user, const struct engine_answer *answer)
{
    struct run *run = user;
    struct engine_fault fault;
    char path[RUN_PATH_LIMIT];
    run->call = NULL;
    json_auto_t *version = run_take_answer(run, answer, 200, "report its version");
    if (!version)
        return;
    if (!engine_facts_of_version(version, &run->engine->facts, &fault)) {
        run_fail_engine(run, &fault);
        return;
    }
    (void)snprintf(path, sizeof(path), "/v1.%u/info", run->engine->facts.api);
    run_ask(run, path, take_info_answer);
}

void run_begin_steps(struct run *run)
{
    if (run->engine->known)
        begin_with_engine(run);
    else
        run_ask(run, "/version", take_version_answer);
}
