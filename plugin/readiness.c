/* SPDX-License-Identifier: Apache-2.0 */
/* Trial runs and their memory. Runs in the gateway, on the thread inside tool_invoke(),
 * tool_prepare() or tool_status(). */
#include "readiness.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "backend_client.h"
#include "cleanup.h"
#include "plan.h"
#include "remedy.h"
#include "run.h"

#define REMEMBERED_LIMIT 64

struct remembered {
    char policy_sha256[65];
    enum sandbox_mode mode;
    char language[32];
    bool network;
};

static pthread_mutex_t remembered_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct remembered remembered[REMEMBERED_LIMIT];
static size_t remembered_count;

static struct remembered key_of(const struct policy *policy, enum sandbox_mode mode,
                                const struct policy_language *language, bool network)
{
    struct remembered key = {.mode = mode, .network = network};
    memcpy(key.policy_sha256, policy->sha256, sizeof(key.policy_sha256));
    (void)snprintf(key.language, sizeof(key.language), "%s", language->name);
    return key;
}

static bool same(const struct remembered *one, const struct remembered *other)
{
    return one->mode == other->mode && one->network == other->network &&
           strcmp(one->language, other->language) == 0 &&
           strcmp(one->policy_sha256, other->policy_sha256) == 0;
}

static bool is_remembered(const struct remembered *key)
{
    bool found = false;
    (void)pthread_mutex_lock(&remembered_mutex);
    for (size_t i = 0; i < remembered_count && !found; i++)
        found = same(&remembered[i], key);
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

static enum error_code code_of_engine(enum engine_problem problem)
{
    switch (problem) {
    case ENGINE_PROBLEM_NO_SECCOMP:
    case ENGINE_PROBLEM_NO_LIMITS:
    case ENGINE_PROBLEM_ALTERED:
        return ERROR_SANDBOX_UNAVAILABLE;
    case ENGINE_PROBLEM_REFUSED:
    case ENGINE_PROBLEM_SILENT:
        return ERROR_BACKEND_FAILED;
    case ENGINE_PROBLEM_NONE:
    case ENGINE_PROBLEM_ADDRESS:
    case ENGINE_PROBLEM_NOT_INSTALLED:
    case ENGINE_PROBLEM_NOT_RUNNING:
    case ENGINE_PROBLEM_NO_PERMISSION:
    case ENGINE_PROBLEM_API_TOO_OLD:
    case ENGINE_PROBLEM_NO_IMAGE:
    case ENGINE_PROBLEM_IMAGE_UNUSED:
    case ENGINE_PROBLEM_COUNT:
        break;
    }
    return ERROR_BACKEND_UNAVAILABLE;
}

static void explain_engine(const struct run_event *ended, struct error *error)
{
    enum engine_problem problem = (enum engine_problem)ended->engine_problem;
    error_set(error, code_of_engine(problem), "%.250s", ended->message);
    error_set_hint(error, "%s", remedy_for_engine(problem));
}

void readiness_explain(const struct run_event *ended, const struct policy_language *language,
                       struct error *error)
{
    switch ((enum run_failure)ended->failure) {
    case RUN_FAILURE_RUNTIME_MISSING:
        error_set(error, ERROR_RUNTIME_NOT_FOUND, "runtime not found: %.200s", ended->message);
        if (language != NULL)
            error_set_hint(
                error, "install the package %s on the gateway's machine, or use another language",
                language->package);
        return;
    case RUN_FAILURE_EXEC:
        error_set_errno(error, ERROR_RUNTIME_NOT_FOUND, ended->error_number,
                        "runtime does not start: %.200s", ended->message);
        return;
    case RUN_FAILURE_LAYER: {
        enum isolation_layer layer = (enum isolation_layer)ended->failed_layer;
        error_set_errno(error, ERROR_SANDBOX_UNAVAILABLE, ended->error_number,
                        "sandbox unavailable: %s%s%.200s", isolation_layer_name(layer),
                        ended->message[0] != '\0' ? ": " : "", ended->message);
        char hint[sizeof(error->hint)];
        remedy_for_layer(layer, ended->error_number, hint, sizeof(hint));
        error_set_hint(error, "%s", hint);
        return;
    }
    case RUN_FAILURE_ENGINE:
        explain_engine(ended, error);
        return;
    case RUN_FAILURE_NONE:
    case RUN_FAILURE_DESCRIPTION:
    case RUN_FAILURE_INTERNAL:
    case RUN_FAILURE_COUNT:
        break;
    }
    error_set_errno(error, ERROR_BACKEND_FAILED, ended->error_number,
                    "the backend could not start the run: %.200s", ended->message);
}

bool readiness_trial(const struct policy *policy, enum sandbox_mode mode,
                     const struct policy_language *language, bool network, int cancel_fd,
                     struct run_event *ret, struct error *error)
{
    CLEANUP(run_description_clear) struct run_description description = {0};
    if (!plan_trial(policy, mode, language, network, &description)) {
        error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the trial's description");
        return false;
    }
    CLEANUP_CLOSE int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const struct tool_host no_host = {0};
    CLEANUP(run_clear)
    struct run run = {
        .mode = mode,
        .description = &description,
        .stdin_fd = input,
        .cancel_fd = cancel_fd,
        .output = {.id = TOOL_STREAM_STDOUT, .host = &no_host},
        .errors = {.id = TOOL_STREAM_STDERR, .host = &no_host},
    };
    struct run_outcome outcome = {0};
    if (!run_execute(&run, &outcome, error))
        return false;
    *ret = outcome.ended;
    return true;
}

bool readiness_check(const struct policy *policy, enum sandbox_mode mode,
                     const struct policy_language *language, bool network, int cancel_fd,
                     struct error *error)
{
    if (!backend_exists(mode, error))
        return false;
    struct remembered key = key_of(policy, mode, language, network);
    if (is_remembered(&key))
        return true;
    struct run_event ended;
    if (!readiness_trial(policy, mode, language, network, cancel_fd, &ended, error))
        return false;
    if (ended.cause == RUN_CAUSE_CANCELLED) {
        error_set(error, ERROR_CANCELLED, "cancelled before the program began");
        return false;
    }
    if (ended.failure != RUN_FAILURE_NONE || ended.cause != RUN_CAUSE_EXIT ||
        ended.exit_code != 0) {
        readiness_explain(&ended, language, error);
        return false;
    }
    remember(&key);
    return true;
}
