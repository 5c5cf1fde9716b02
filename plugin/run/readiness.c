/* SPDX-License-Identifier: Apache-2.0 */
/* Trial runs and their memory. Runs in the gateway, on the thread inside tool_invoke(),
 * tool_prepare() or tool_status(). */
#include "run/readiness.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "run/backend_client.h"
#include "run/describe.h"
#include "run/run.h"

#define REMEMBERED_LIMIT 64
#define OUTPUT_LIMIT     65536 /* bytes: what runs no program prints nothing, or a line or two */

struct remembered {
    char policy_sha256[65];
    enum sandbox_mode mode;
    char language[32];
    char image[RUN_IMAGE_LIMIT + 1];
    bool network;
    bool endpoints;
    uint64_t workspace_device;    /* a kernel that can show one of its directories can show another
                                   */
    char image_id[IMAGE_ID_SIZE]; /* the result; no part of the key */
};

static pthread_mutex_t remembered_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct remembered remembered[REMEMBERED_LIMIT];
static size_t remembered_count;

static struct remembered key_of(const struct trial_subject *subject)
{
    struct remembered key = {.mode = subject->mode,
                             .network = subject->network,
                             .endpoints = subject->endpoints,
                             .workspace_device = subject->workspace_id.device};
    memcpy(key.policy_sha256, subject->policy->sha256, sizeof(key.policy_sha256));
    (void)snprintf(key.language, sizeof(key.language), "%s", subject->language->name);
    if (subject->image)
        (void)snprintf(key.image, sizeof(key.image), "%s", subject->image);
    return key;
}

static bool has_key(const struct remembered *one, const struct remembered *other)
{
    return one->mode == other->mode && one->network == other->network &&
           one->endpoints == other->endpoints && one->workspace_device == other->workspace_device &&
           strcmp(one->language, other->language) == 0 && strcmp(one->image, other->image) == 0 &&
           strcmp(one->policy_sha256, other->policy_sha256) == 0;
}

static bool find_remembered(const struct remembered *key, char ret_image_id[IMAGE_ID_SIZE])
{
    bool found = false;
    (void)pthread_mutex_lock(&remembered_mutex);
    for (size_t i = 0; i < remembered_count && !found; i++) {
        found = has_key(&remembered[i], key);
        if (found)
            memcpy(ret_image_id, remembered[i].image_id, IMAGE_ID_SIZE);
    }
    (void)pthread_mutex_unlock(&remembered_mutex);
    return found;
}

static void remember(const struct remembered *key)
{
    (void)pthread_mutex_lock(&remembered_mutex);
    if (remembered_count == REMEMBERED_LIMIT)
        remembered_count = 0;
    remembered[remembered_count++] = *key;
    (void)pthread_mutex_unlock(&remembered_mutex);
}

void readiness_forget(void)
{
    (void)pthread_mutex_lock(&remembered_mutex);
    remembered_count = 0;
    (void)pthread_mutex_unlock(&remembered_mutex);
}

static void explain_missing_runtime(const struct run_event *ended, enum sandbox_mode mode,
                                    const struct policy_language *language, const char *image,
                                    struct error *error)
{
    error_set(error, ERROR_RUNTIME_NOT_FOUND, "runtime not found: %.200s", ended->message);
    if (image)
        error_set_hint(
            error,
            "the image %.150s does not have it, and a run downloads nothing: use another language, "
            "or give this one another image in the policy's \"%s.images\"",
            image, sandbox_mode_name(mode));
    else if (language)
        error_set_hint(error, "install the package %s on %s, or use another language",
                       language->package,
                       sandbox_mode_row(mode)->machine ? sandbox_mode_row(mode)->machine
                                                       : "the gateway's machine");
}

static void explain_layer(const struct run_event *ended, const char *remedy, struct error *error)
{
    enum isolation_layer layer = (enum isolation_layer)ended->failed_layer;
    error_set_errno(error, ERROR_SANDBOX_UNAVAILABLE, ended->error_number,
                    "sandbox unavailable: %s%s%.200s", isolation_layer_name(layer),
                    ended->message[0] != '\0' ? ": " : "", ended->message);
    error_set_hint(error, "%s", remedy);
}

void readiness_explain(const struct run_event *ended, enum sandbox_mode mode,
                       const struct policy_language *language, const char *image,
                       struct error *error)
{
    const struct sandbox_mode_row *row = sandbox_mode_row(mode);
    switch ((enum run_failure)ended->failure) {
    case RUN_FAILURE_RUNTIME_MISSING:
        explain_missing_runtime(ended, mode, language, image, error);
        return;
    case RUN_FAILURE_EXEC:
        error_set_errno(error, ERROR_RUNTIME_NOT_FOUND, ended->error_number,
                        "runtime does not start: %.200s", ended->message);
        return;
    case RUN_FAILURE_LAYER:
        explain_layer(
            ended,
            row->layer_remedy((enum isolation_layer)ended->failed_layer, ended->error_number),
            error);
        return;
    case RUN_FAILURE_WORKSPACE:
        explain_layer(
            ended, row->workspace_remedy ? row->workspace_remedy(ended->error_number) : "", error);
        return;
    case RUN_FAILURE_OTHER_WORKSPACE:
        error_set(
            error, ERROR_APPROVAL_MISMATCH,
            "approval mismatch: the workspace is no longer the directory that was checked (%.200s)",
            ended->message);
        return;
    case RUN_FAILURE_INPUT_FILE:
        error_set_errno(error, ERROR_FILE_CHANGED, ended->error_number,
                        "a file by reference is not the one that was approved (%.200s)",
                        ended->message);
        return;
    case RUN_FAILURE_BACKEND:
    case RUN_FAILURE_IMAGE:
        if (ended->problem_code != ERROR_TOO_MANY_REQUESTS)
            readiness_forget(); /* the engine, or what it has, is not what it was */
        error_set(error, (enum error_code)ended->problem_code, "%.250s", ended->message);
        error_set_hint(error, "%s", ended->remedy);
        error->retry_after_ms = ended->retry_after_ms;
        return;
    case RUN_FAILURE_NONE:
        error_set(error, ERROR_BACKEND_FAILED, "the trial of the sandbox did not end by itself: %s",
                  run_cause_name((enum run_cause)ended->cause));
        return;
    case RUN_FAILURE_DESCRIPTION:
    case RUN_FAILURE_INTERNAL:
    case RUN_FAILURE_COUNT:
        break;
    }
    error_set_errno(error, ERROR_BACKEND_FAILED, ended->error_number, "the backend failed: %.200s",
                    ended->message);
}

/* Hands the description to its backend and waits for the end. */
static bool run_to_end(enum sandbox_mode mode, const struct run_description *description,
                       const struct trial_watcher *watcher, struct run_event *ret,
                       struct error *error)
{
    CLEANUP_CLOSE int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
    CLEANUP(run_clear)
    struct run run = {
        .mode = mode,
        .description = description,
        .stdin_fd = input,
        .endpoints_fd = -1,
        .cancel_fd = watcher->cancel_fd,
        .output = {.id = TOOL_STREAM_STDOUT, .host = watcher->host, .mute = true},
        .errors = {.id = TOOL_STREAM_STDERR, .host = watcher->host, .mute = true},
        .output_limit = OUTPUT_LIMIT,
    };
    struct run_outcome outcome = {0};
    if (!run_execute(&run, &outcome, error))
        return false;
    *ret = outcome.ended;
    return true;
}

bool readiness_trial(const struct trial_subject *subject, const struct trial_watcher *watcher,
                     struct run_event *ret, struct error *error)
{
    CLEANUP(run_description_clear) struct run_description description = {0};
    if (!describe_trial(subject, &description)) {
        error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the trial's description");
        return false;
    }
    return run_to_end(subject->mode, &description, watcher, ret, error);
}

bool readiness_prepare(const struct trial_subject *subject, const char *word, struct run_event *ret,
                       struct error *error)
{
    static const struct tool_host no_host;
    const struct trial_watcher watcher = {.host = &no_host, .cancel_fd = -1};
    CLEANUP(run_description_clear) struct run_description description = {0};
    if (!describe_preparation(subject, word, &description)) {
        error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the preparation's description");
        return false;
    }
    if (!run_to_end(subject->mode, &description, &watcher, ret, error))
        return false;
    if (ret->failure == RUN_FAILURE_NONE)
        return true;
    readiness_explain(ret, subject->mode, subject->language, NULL, error);
    return false;
}

bool readiness_sweep(const struct policy *policy, enum sandbox_mode mode, struct run_event *ret,
                     struct error *error)
{
    static const struct tool_host no_host;
    const struct trial_watcher watcher = {.host = &no_host, .cancel_fd = -1};
    CLEANUP(run_description_clear) struct run_description description = {0};
    if (!describe_sweep(policy, mode, &description)) {
        error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the sweep's description");
        return false;
    }
    if (!backend_exists(mode, error) || !run_to_end(mode, &description, &watcher, ret, error))
        return false;
    if (ret->failure == RUN_FAILURE_NONE)
        return true;
    readiness_explain(ret, mode, NULL, NULL, error);
    return false;
}

bool readiness_is_known(const struct trial_subject *subject)
{
    struct remembered key = key_of(subject);
    char image_id[IMAGE_ID_SIZE];
    return subject->pull != RUN_PULL_ALWAYS && find_remembered(&key, image_id);
}

bool readiness_check(const struct trial_subject *subject, const struct trial_watcher *watcher,
                     char ret_image_id[IMAGE_ID_SIZE], struct error *error)
{
    struct remembered key = key_of(subject);
    /* With pull=always the cached result is never used. */
    if (subject->pull != RUN_PULL_ALWAYS && find_remembered(&key, ret_image_id))
        return true;
    if (!backend_exists(subject->mode, error))
        return false;
    struct run_event ended;
    if (!readiness_trial(subject, watcher, &ended, error))
        return false;
    if (ended.cause == RUN_CAUSE_CANCELLED) {
        error_set(error, ERROR_CANCELLED, "cancelled before the program began");
        return false;
    }
    if (ended.failure != RUN_FAILURE_NONE || ended.cause != RUN_CAUSE_EXIT ||
        ended.exit_code != 0) {
        readiness_explain(&ended, subject->mode, subject->language, subject->image, error);
        return false;
    }
    memcpy(key.image_id, ended.image_id, IMAGE_ID_SIZE);
    memcpy(ret_image_id, ended.image_id, IMAGE_ID_SIZE);
    if (subject->pull != RUN_PULL_ALWAYS)
        remember(&key);
    return true;
}

void readiness_after_fork(void)
{
    remembered_mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    remembered_count = 0;
}
