/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns a run's way to its image: the engine is asked for it and, where the description allows that,
 * pulls it, with progress for the plugin; then the image with the guest, and with the run's
 * packages, is derived from it. Runs in the docker backend.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/docker/run/docker_run.h"
#include "base/cleanup.h"

#define PULL_TICK_US    UINT64_C(1000000)  /* between two reports to the plugin */
#define PULL_SILENCE_US UINT64_C(60000000) /* an engine that is silent for so long hangs */
#define PULL_TIME_MS    (UINT64_C(30) * 60 * 1000)

static void fail_without_image(struct run *run)
{
    struct engine_fault fault;
    engine_fault_set(&fault, ENGINE_PROBLEM_NO_IMAGE, "docker does not have the image %.120s",
                     run->description.image.name);
    run_fail_engine(run, &fault);
}

static void take_line(void *user, const char *bytes, size_t length)
{
    struct run *run = user;
    docker_run(run)->pull->heard_us = monotonic_us();
    pull_progress_take(&docker_run(run)->pull->progress, bytes, length);
}

static void take_pull_answer(void *user, const struct engine_answer *answer)
{
    struct run *run = user;
    CLEANUP_FREE struct run_pull_state *pull = TAKE_POINTER(docker_run(run)->pull);
    struct engine_fault fault;
    docker_run(run)->call = NULL;
    run->deadline_us = monotonic_us() + CONTAINER_START_LIMIT_US;
    if (answer->fault.problem != ENGINE_PROBLEM_NONE) {
        run_fail_engine(run, &answer->fault);
        return;
    }
    pull_progress_take(&pull->progress, answer->body, answer->length);
    if (answer->status == 200 && pull->progress.refusal[0] == '\0') {
        docker_run_ask_for_image(run);
        return;
    }
    engine_fault_set(&fault, ENGINE_PROBLEM_PULL_REFUSED, "pull refused: %.80s: %.100s",
                     run->description.image.name, pull->progress.refusal);
    run_fail_engine(run, &fault);
}

/* The part of the name that is a tag or digest; "latest", as everywhere, without one. */
static const char *split_name(const char *image, size_t *ret_length)
{
    const char *at = strchr(image, '@');
    const char *slash = strrchr(image, '/');
    const char *colon = strrchr(slash ? slash : image, ':');
    const char *end = at ? at : colon;
    *ret_length = end ? (size_t)(end - image) : strlen(image);
    return end ? end + 1 : "latest";
}

static void pull_tick(struct run *run)
{
    uint64_t now = monotonic_us();
    struct engine_fault fault;
    if (now - docker_run(run)->pull->heard_us > PULL_SILENCE_US) {
        engine_fault_set(&fault, ENGINE_PROBLEM_SILENT,
                         "docker did not report the result of pulling %.120s",
                         run->description.image.name);
        run_fail_engine(run, &fault);
        return;
    }
    struct run_event event = {.type = RUN_EVENT_PROGRESS, .exit_code = -1};
    char *last = docker_run(run)->pull->last;
    pull_progress_text(&docker_run(run)->pull->progress, run->description.image.name, event.message,
                       sizeof(event.message));
    /* A line that was sent is not sent again: an empty one means that the pull goes on. */
    if (strcmp(event.message, last) == 0)
        event.message[0] = '\0';
    else
        (void)snprintf(last, sizeof(docker_run(run)->pull->last), "%s", event.message);
    run_event_send(run->socket, &event);
    run->deadline_us = now + PULL_TICK_US;
}

static void start_pull(struct run *run)
{
    char path[RUN_PATH_LIMIT];
    size_t length;
    const char *image = run->description.image.name;
    const char *tag = split_name(image, &length);
    docker_run(run)->pull = calloc(1, sizeof(*docker_run(run)->pull));
    if (!docker_run(run)->pull) {
        run_fail(run, RUN_FAILURE_INTERNAL, ENOMEM, "pull the image");
        return;
    }
    docker_run(run)->pulled = true;
    docker_run(run)->pull->heard_us = monotonic_us();
    (void)snprintf(path, sizeof(path), "/v1.%u/images/create?fromImage=%.*s&tag=%s",
                   run->engine->facts.api, (int)length, image, tag);
    const struct engine_request request = {
        .address = &run->engine->address,
        .method = "POST",
        .path = path,
        .timeout_ms = PULL_TIME_MS,
        .line = take_line,
        .done = take_pull_answer,
        .user = run,
    };
    docker_run(run)->call =
        engine_call_start(docker_environment(run->environment)->client, &request);
    if (docker_run(run)->call)
        pull_tick(run);
    else
        run_fail(run, RUN_FAILURE_INTERNAL, ENOMEM, "pull the image");
}

/* An id alone is nothing that a registry could be asked for. */
static bool has_name(const char *image)
{
    return strncmp(image, "sha256:", 7) != 0;
}

static const struct run_packages *packages_of(const struct run *run)
{
    const struct run_packages *packages = &run->description.packages;
    return packages->path[0] != '\0' ? packages : NULL;
}

static bool waits_for_packages(struct run *run)
{
    if (!docker_run(run)->waiter.derivation || !packages_of(run))
        return false;
    struct run_event event = {.type = RUN_EVENT_PROGRESS, .exit_code = -1};
    if (!docker_run(run)->told_packages)
        (void)snprintf(event.message, sizeof(event.message), "putting the packages into %.120s",
                       run->description.image.name);
    docker_run(run)->told_packages = true;
    run_event_send(run->socket, &event);
    run->deadline_us = monotonic_us() + PULL_TICK_US;
    return true;
}

static void take_derived_image(struct image_waiter *waiter, const char *id,
                               const struct engine_fault *fault)
{
    struct run *run = waiter->user;
    if (packages_of(run))
        run->deadline_us = monotonic_us() + CONTAINER_START_LIMIT_US;
    if (id) {
        (void)snprintf(docker_run(run)->image_id, sizeof(docker_run(run)->image_id), "%s", id);
        docker_run_get_container(run);
    } else if (fault->problem == ENGINE_PROBLEM_NONE) {
        run_fail(run, RUN_FAILURE_INTERNAL, ENOMEM, fault->message);
    } else {
        run_fail_engine(run, fault);
    }
}

static void take_image_answer(void *user, const struct engine_answer *answer)
{
    struct run *run = user;
    const struct run_image *wanted = &run->description.image;
    struct engine_fault fault;
    const char *id;
    docker_run(run)->call = NULL;
    if (answer->fault.problem == ENGINE_PROBLEM_NONE && answer->status == 404) {
        if (wanted->pull == RUN_PULL_NEVER || docker_run(run)->pulled || !has_name(wanted->name))
            fail_without_image(run);
        else
            start_pull(run);
        return;
    }
    json_auto_t *image = docker_run_take_answer(run, answer, 200, "describe the image");
    if (!image)
        return;
    if (!engine_facts_of_image(image, wanted, &id, &fault)) {
        run_fail_engine(run, &fault);
        return;
    }
    (void)snprintf(run->event.image_id, sizeof(run->event.image_id), "%.79s", id);
    docker_run(run)->waiter = (struct image_waiter){.done = take_derived_image, .user = run};
    image_store_get(docker_environment(run->environment), run->engine, image, run->event.image_id,
                    packages_of(run), &docker_run(run)->waiter);
    if (docker_run(run)->waiter.derivation && packages_of(run))
        run->deadline_us = monotonic_us() + PULL_TICK_US;
}

void docker_run_ask_for_image(struct run *run)
{
    char path[RUN_PATH_LIMIT];
    const char *image = run->description.image.name;
    if (run->description.image.pull == RUN_PULL_ALWAYS && has_name(image) &&
        !docker_run(run)->pulled) {
        start_pull(run);
        return;
    }
    (void)snprintf(path, sizeof(path), "/v1.%u/images/%s/json", run->engine->facts.api, image);
    docker_run_ask(run, path, take_image_answer);
}

bool docker_run_begin_anew(struct run *run, const struct engine_fault *fault)
{
    if (fault->problem != ENGINE_PROBLEM_IMAGE_GONE || docker_run(run)->derived_anew)
        return false;
    container_leave(TAKE_POINTER(run->container));
    docker_run(run)->derived_anew = true;
    docker_run_ask_for_image(run);
    return true;
}

bool docker_run_expire(struct run *run)
{
    if (waits_for_packages(run))
        return true;
    if (!docker_run(run)->pull)
        return false;
    pull_tick(run);
    return true;
}
