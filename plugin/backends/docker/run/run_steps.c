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
#include "backends/docker/run/docker_run.h"
#include "backends/guest_runs/pool/pool.h"
#include "base/cleanup.h"

void docker_run_ask(struct run *run, const char *path, engine_done *done)
{
    const struct engine_request request = {
        .address = &run->engine->address,
        .method = "GET",
        .path = path,
        .timeout_ms = ENGINE_TIME_MS,
        .done = done,
        .user = run,
    };
    docker_run(run)->call =
        engine_call_start(docker_environment(run->environment)->client, &request);
    if (!docker_run(run)->call)
        run_fail(run, RUN_FAILURE_INTERNAL, ENOMEM, "ask docker");
}

json_t *docker_run_take_answer(struct run *run, const struct engine_answer *answer, long expected,
                               const char *what)
{
    struct engine_fault fault;
    json_t *json =
        engine_answer_take(answer, expected, run->engine->facts.name, false, what, &fault);
    if (!json)
        run_fail_engine(run, &fault);
    return json;
}

void docker_run_make_container(struct run *run)
{
    struct docker_environment *environment = docker_environment(run->environment);
    json_t *config = container_config_for_run(&run->description, docker_run(run)->options.runtime,
                                              docker_run(run)->image_id, &environment->owner,
                                              environment->seccomp, (int64_t)time(NULL));
    if (config &&
        engine_facts_runtime_is_gvisor(&run->engine->facts, docker_run(run)->options.runtime) &&
        !container_config_suit_gvisor(config, &run->description.limits))
        json_decref(TAKE_POINTER(config));
    run->container =
        config ? docker_container_make(environment, run->engine, config, &run->job, NULL) : NULL;
    if (!run->container)
        run_fail(run, RUN_FAILURE_INTERNAL, ENOMEM, "make the container");
}

/* One that waits; NULL: there is none. */
static struct container *take_waiting(struct run *run)
{
    const char *runtime = docker_run(run)->options.runtime;
    /* One that waits has no place for cells. */
    if (run->job.session || !pool_serves(&run->description))
        return NULL;
    json_auto_t *template =
        container_config_template(&run->description, runtime, docker_run(run)->image_id,
                                  docker_environment(run->environment)->seccomp);
    if (!template || (engine_facts_runtime_is_gvisor(&run->engine->facts, runtime) &&
                      !container_config_suit_gvisor(template, &run->description.limits)))
        return NULL;
    return pool_take(run->environment, run->engine, &run->description, template, &run->job);
}

void docker_run_get_container(struct run *run)
{
    run->container = take_waiting(run);
    if (!run->container) {
        docker_run_make_container(run);
        return;
    }
    pool_bound(run->container);
}

static void take_network_answer(void *user, const struct engine_answer *answer)
{
    struct run *run = user;
    struct engine_fault fault;
    docker_run(run)->call = NULL;
    if (answer->fault.problem == ENGINE_PROBLEM_NONE && answer->status == 404) {
        engine_fault_set(&fault, ENGINE_PROBLEM_NO_NETWORK, "docker has no network \"bridge\"");
        run_fail_engine(run, &fault);
        return;
    }
    json_auto_t *network = docker_run_take_answer(run, answer, 200, "describe its bridge");
    if (network)
        docker_run_ask_for_image(run);
}

static void take_sweep_result(void *user, const struct sweep_result *result)
{
    struct run *run = user;
    docker_run(run)->sweep = NULL;
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
    const char *runtime = docker_run(run)->options.runtime;
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
void docker_run_go_on(struct run *run)
{
    char path[RUN_PATH_LIMIT];
    struct engine_fault fault;
    if (run->description.purpose == RUN_PURPOSE_SWEEP) {
        docker_run(run)->sweep =
            sweep_start(docker_environment(run->environment), run->engine, take_sweep_result, run);
        if (!docker_run(run)->sweep)
            run_fail(run, RUN_FAILURE_INTERNAL, ENOMEM, "begin the sweep");
        return;
    }
    if (!run->engine->swept)
        (void)sweep_start(docker_environment(run->environment), run->engine, NULL, NULL);
    oom_watch_begin(run->engine);
    if (!engine_facts_have_runtime(&run->engine->facts, docker_run(run)->options.runtime, &fault)) {
        run_fail_engine(run, &fault);
        return;
    }
    if (!run->description.network) {
        docker_run_ask_for_image(run);
        return;
    }
    (void)snprintf(path, sizeof(path), "/v1.%u/networks/bridge", run->engine->facts.api);
    docker_run_ask(run, path, take_network_answer);
}

static void begin_with_engine(struct run *run)
{
    write_report(run);
    run_begin_on_engine(run);
}

static void take_info_answer(void *user, const struct engine_answer *answer)
{
    struct run *run = user;
    struct engine_fault fault;
    docker_run(run)->call = NULL;
    json_auto_t *info = docker_run_take_answer(run, answer, 200, "describe itself");
    if (!info)
        return;
    if (!engine_facts_of_info(info, &run->engine->facts, &fault)) {
        run_fail_engine(run, &fault);
        return;
    }
    /* Runs that began at once ask at once: the first answer is the new look at the engine. */
    if (!run->engine->known)
        image_store_forget(docker_environment(run->environment), run->engine, NULL);
    run->engine->known = true;
    begin_with_engine(run);
}

static void take_version_answer(void *user, const struct engine_answer *answer)
{
    struct run *run = user;
    struct engine_fault fault;
    char path[RUN_PATH_LIMIT];
    docker_run(run)->call = NULL;
    json_auto_t *version = docker_run_take_answer(run, answer, 200, "report its version");
    if (!version)
        return;
    if (!engine_facts_of_version(version, &run->engine->facts, &fault)) {
        run_fail_engine(run, &fault);
        return;
    }
    (void)snprintf(path, sizeof(path), "/v1.%u/info", run->engine->facts.api);
    docker_run_ask(run, path, take_info_answer);
}

static bool check_image(const struct run_image *image, struct engine_fault *fault)
{
    if (!engine_image_name_is_good(image->name))
        return engine_fault_set(fault, ENGINE_PROBLEM_IMAGE_UNUSED,
                                "not an image's name: \"%.100s\"", image->name);
    if (image->require_digest && !engine_image_is_pinned(image->name))
        return engine_fault_set(fault, ENGINE_PROBLEM_IMAGE_UNUSED,
                                "the policy requires images pinned by digest, and %.100s is not",
                                image->name);
    return true;
}

void docker_run_begin(struct run *run)
{
    const struct docker_options *options = &docker_run(run)->options;
    struct engine_fault fault;
    if (!docker_options_read(&run->description.options, &docker_run(run)->options)) {
        run_fail(run, RUN_FAILURE_DESCRIPTION, EBADMSG, "unreadable description");
        return;
    }
    if (run->description.purpose == RUN_PURPOSE_SWEEP ||
        check_image(&run->description.image, &fault))
        run->engine = engine_find(docker_environment(run->environment), options, &fault);
    if (!run->engine)
        run_fail_engine(run, &fault);
    else if (run->engine->known)
        begin_with_engine(run);
    else
        docker_run_ask(run, "/version", take_version_answer);
}
