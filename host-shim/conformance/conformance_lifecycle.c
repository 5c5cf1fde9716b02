/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conformance: cancelling, ending, reloading, many at once, and being a good guest. Main thread of
 * a case's process, and the threads that a case starts.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/json.h"
#include "conformance/conformance_case.h"
#include "conformance/conformance_input.h"
#include "conformance/conformance_state.h"
#include "conformance/probe_host.h"

#define RELOADS          10
#define PARALLEL         32u
#define CANCEL_WITHIN_MS 5000
#define CHILDREN_END_MS  2000

static enum case_result case_shutdown_reuse(struct conformance *conformance)
{
    enum case_result result = CASE_PASSED;
    for (int round = 0; result == CASE_PASSED && round < 3; round++) {
        conformance->provider.shutdown();
        probe_host_reset(conformance->probe);
        result = probe_host_good_runs(conformance->probe, "after tool_shutdown()");
    }
    conformance->provider.shutdown();
    conformance->provider.shutdown();
    return result;
}

/* Orphaned helpers count as well: this process is their subreaper. */
static bool children_are_gone(void)
{
    uint64_t deadline = monotonic_ms() + CHILDREN_END_MS;
    for (;;) {
        pid_t reaped = waitpid(-1, NULL, WNOHANG);
        if (reaped < 0 && errno == ECHILD)
            return true;
        if (reaped == 0 && monotonic_ms() >= deadline)
            return false;
        if (reaped == 0)
            (void)usleep(10000);
    }
}

static enum case_result expect_no_leftover(struct conformance *conformance,
                                           const struct process_state *before)
{
    if (!children_are_gone())
        return case_fail(conformance, "left behind: a child process");
    CLEANUP(process_state_clear) struct process_state after = {0};
    if (!process_state_take(&after))
        return case_fail(conformance, "the state of the process cannot be read");
    const char *leftover = process_state_leftover(before, &after);
    CLEANUP_FREE char *path = realpath(conformance->path, NULL);
    if (path && process_state_maps(path))
        return case_fail(conformance, "left behind: the provider itself, in memory");
    return leftover ? case_fail(conformance, "left behind: %s", leftover) : CASE_PASSED;
}

static enum case_result case_reload(struct conformance *conformance)
{
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    CLEANUP(process_state_clear) struct process_state before = {0};
    if (!process_state_take(&before))
        return case_fail(conformance, "the state of the process cannot be read");
    size_t mapped_files = 0;
    for (int round = 0; round < RELOADS; round++) {
        if (!conformance_load(conformance))
            return CASE_FAILED;
        probe_host_invoke_good(conformance->probe);
        conformance_unload(conformance);
        enum case_result result = expect_no_leftover(conformance, &before);
        if (result != CASE_PASSED)
            return result;
        /* A library that a provider needs may stay for good, but only once. */
        CLEANUP(process_state_clear) struct process_state after = {0};
        if (!process_state_take(&after))
            return case_fail(conformance, "the state of the process cannot be read");
        if (round > 0 && after.mapped_files > mapped_files)
            return case_fail(conformance, "left behind: a mapped file");
        mapped_files = after.mapped_files;
    }
    return CASE_PASSED;
}

/* dlclose() alone has to do what tool_shutdown() does. */
static enum case_result case_close_without_shutdown(struct conformance *conformance)
{
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    CLEANUP(process_state_clear) struct process_state before = {0};
    if (!process_state_take(&before))
        return case_fail(conformance, "the state of the process cannot be read");
    if (!conformance_load(conformance))
        return CASE_FAILED;
    probe_host_invoke_good(conformance->probe);
    json_decref(TAKE_POINTER(conformance->tool));
    (void)dlclose(TAKE_POINTER(conformance->provider.library));
    return expect_no_leftover(conformance, &before);
}

static enum case_result compare_state(struct conformance *conformance,
                                      const struct process_state *before, const char *when)
{
    CLEANUP(process_state_clear) struct process_state after = {0};
    if (!process_state_take(&after))
        return case_fail(conformance, "the state of the process cannot be read");
    const char *difference = process_state_difference(before, &after);
    return difference ? case_fail(conformance, "%s was changed %s", difference, when) : CASE_PASSED;
}

static enum case_result case_host_state(struct conformance *conformance)
{
    CLEANUP(process_state_clear) struct process_state before = {0};
    if (!process_state_take(&before))
        return case_fail(conformance, "the state of the process cannot be read");
    if (!conformance_load(conformance))
        return CASE_FAILED;
    enum case_result result = compare_state(conformance, &before, "by loading");
    char *status = NULL;
    (void)conformance->provider.status(&status);
    conformance->provider.free(status);
    if (result == CASE_PASSED)
        result = compare_state(conformance, &before, "by tool_status()");
    probe_host_invoke_good(conformance->probe);
    if (result == CASE_PASSED)
        result = compare_state(conformance, &before, "by tool_invoke()");
    conformance_unload(conformance);
    return result == CASE_PASSED ? compare_state(conformance, &before, "by unloading") : result;
}

struct parallel_call {
    struct conformance conformance; /* a copy: each thread has its own remark */
    unsigned number;
    bool started;
    pthread_t thread;
    enum case_result result;
};

static enum case_result judge_parallel(struct parallel_call *call, const struct outcome *outcome)
{
    struct conformance *conformance = &call->conformance;
    if (outcome->code == TOOL_NOT_RUN && json_is_object(json_object_get(outcome->result, "error")))
        return CASE_SKIPPED; /* as many as the policy allows are running */
    if (!conformance_input_has_marker(conformance->tool))
        return outcome->code == TOOL_OK ? CASE_PASSED : case_fail(conformance, "did not run");
    char expected[64];
    (void)snprintf(expected, sizeof(expected), "number-42-%u\n", call->number);
    const char *printed = json_member_string(outcome->result, "stdout", "");
    return strcmp(printed, expected) == 0
               ? CASE_PASSED
               : case_fail(conformance, "a call got the output of another call, or none");
}

static void *call_in_parallel(void *argument)
{
    struct parallel_call *call = argument;
    CLEANUP(probe_host_free) struct probe_host *probe = probe_host_new(&call->conformance);
    CLEANUP_FREE char *input = conformance_input_has_marker(call->conformance.tool)
                                   ? conformance_input_numbered(call->number)
                                   : conformance_input_good(call->conformance.tool);
    if (!probe || !input)
        return NULL;
    probe_host_invoke_input(probe, input);
    call->result = judge_parallel(call, &probe->outcome);
    return NULL;
}

static enum case_result case_parallel(struct conformance *conformance)
{
    struct parallel_call calls[PARALLEL];
    enum case_result result = CASE_PASSED;
    unsigned ran = 0;
    for (unsigned i = 0; i < PARALLEL; i++) {
        calls[i] =
            (struct parallel_call){.conformance = *conformance, .number = i, .result = CASE_FAILED};
        calls[i].started = pthread_create(&calls[i].thread, NULL, call_in_parallel, &calls[i]) == 0;
    }
    for (unsigned i = 0; i < PARALLEL; i++) {
        if (calls[i].started)
            (void)pthread_join(calls[i].thread, NULL);
        if (calls[i].result == CASE_FAILED)
            result = case_fail(conformance, "call %u of %u: %s", i + 1, PARALLEL,
                               calls[i].conformance.remark);
        ran += calls[i].result == CASE_PASSED;
    }
    if (result == CASE_PASSED && ran == 0)
        return case_fail(conformance, "none of %u concurrent calls ran", PARALLEL);
    return result;
}

struct canceller {
    const struct probe_host *probe;
    uint64_t accepted_at_ms; /* 0: never */
};

static int32_t cancel_call(const struct probe_host *probe)
{
    return probe->conformance->provider.cancel(probe->host.call_id);
}

/* Tries until the call has begun. */
static void *cancel_soon(void *argument)
{
    struct canceller *canceller = argument;
    uint64_t deadline = monotonic_ms() + CANCEL_WITHIN_MS;
    (void)usleep(300000);
    while (canceller->accepted_at_ms == 0 && monotonic_ms() < deadline) {
        if (cancel_call(canceller->probe) == TOOL_ACCEPTED)
            canceller->accepted_at_ms = monotonic_ms();
        else
            (void)usleep(20000);
    }
    return NULL;
}

static enum case_result case_cancel_running(struct conformance *conformance)
{
    struct probe_host *probe = conformance->probe;
    struct canceller canceller = {.probe = probe};
    pthread_t thread;
    if (!conformance_input_has_marker(conformance->tool))
        return case_skip(conformance, "no known input makes this tool run for long");
    CLEANUP_FREE char *input = conformance_input_sleeping();
    if (pthread_create(&thread, NULL, cancel_soon, &canceller) != 0)
        return case_fail(conformance, "cannot start a thread");
    probe_host_invoke_input(probe, input);
    uint64_t ended_at_ms = monotonic_ms();
    (void)pthread_join(thread, NULL);
    if (canceller.accepted_at_ms == 0)
        return case_fail(conformance, "tool_cancel() never accepted a running call");
    if (ended_at_ms > canceller.accepted_at_ms + CANCEL_WITHIN_MS)
        return case_fail(conformance, "the call ended %llu ms after its cancellation",
                         (unsigned long long)(ended_at_ms - canceller.accepted_at_ms));
    enum case_result result = probe_host_expect_status(probe, "cancelled");
    if (result == CASE_PASSED && cancel_call(probe) != TOOL_UNKNOWN)
        return case_fail(conformance, "cancelling an ended call did not return TOOL_UNKNOWN");
    return result;
}

const struct conformance_row conformance_lifecycle_rows[] = {
    {"cancel-running", case_cancel_running, CASE_NEEDS_A_RUN, 0},
    {"parallel", case_parallel, CASE_NEEDS_A_RUN, 0},
    {"shutdown-reuse", case_shutdown_reuse, CASE_NEEDS_A_RUN, 0},
    {"host-state", case_host_state, CASE_LOADS_ITSELF, 0},
    {"reload", case_reload, CASE_LOADS_ITSELF, 0},
    {"close-without-shutdown", case_close_without_shutdown, CASE_LOADS_ITSELF, 0},
    {0},
};
