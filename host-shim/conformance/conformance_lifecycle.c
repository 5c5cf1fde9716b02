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

static enum case_result run_once(struct conformance *conformance, bool must_run, const char *when)
{
    CLEANUP_FREE struct probe_host *probe = probe_host_new(conformance);
    if (!probe)
        return case_fail(conformance, "out of memory");
    CLEANUP(outcome_clear) struct outcome outcome = {0};
    probe_host_invoke_good(conformance, probe, &probe->host, &outcome);
    return must_run ? probe_host_expect_ran(conformance, &outcome, when) : CASE_PASSED;
}

static enum case_result case_shutdown_reuse(struct conformance *conformance, unsigned argument)
{
    (void)argument;
    for (int input = 0; input < 3; input++) {
        conformance->provider.shutdown();
        enum case_result result = run_once(conformance, true, "after tool_shutdown()");
        if (result != CASE_PASSED)
            return result;
    }
    conformance->provider.shutdown();
    conformance->provider.shutdown();
    return CASE_PASSED;
}

/* Helpers that cut themselves loose come to us as well, because this process is their reaper. */
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

static enum case_result case_reload(struct conformance *conformance, unsigned argument)
{
    (void)argument;
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    CLEANUP(process_state_clear) struct process_state before = {0};
    if (!process_state_take(&before))
        return case_fail(conformance, "the state of the process cannot be read");
    size_t mapped_files = 0;
    for (int input = 0; input < RELOADS; input++) {
        if (!conformance_load(conformance))
            return CASE_FAILED;
        (void)run_once(conformance, false, "");
        conformance_unload(conformance);
        enum case_result result = expect_no_leftover(conformance, &before);
        if (result != CASE_PASSED)
            return result;
        /* A library that a provider needs may stay for good, but only once. */
        CLEANUP(process_state_clear) struct process_state after = {0};
        if (!process_state_take(&after))
            return case_fail(conformance, "the state of the process cannot be read");
        if (input > 0 && after.mapped_files > mapped_files)
            return case_fail(conformance, "left behind: a mapped file");
        mapped_files = after.mapped_files;
    }
    return CASE_PASSED;
}

/* dlclose() alone has to do what tool_shutdown() does. */
static enum case_result case_close_without_shutdown(struct conformance *conformance,
                                                    unsigned argument)
{
    (void)argument;
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    CLEANUP(process_state_clear) struct process_state before = {0};
    if (!process_state_take(&before))
        return case_fail(conformance, "the state of the process cannot be read");
    if (!conformance_load(conformance))
        return CASE_FAILED;
    (void)run_once(conformance, false, "");
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

static enum case_result case_host_state(struct conformance *conformance, unsigned argument)
{
    (void)argument;
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
    (void)run_once(conformance, false, "");
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
    CLEANUP_FREE struct probe_host *probe = probe_host_new(&call->conformance);
    CLEANUP_FREE char *input = conformance_input_has_marker(call->conformance.tool)
                                   ? conformance_input_numbered(call->number)
                                   : conformance_input_good(call->conformance.tool);
    CLEANUP(outcome_clear) struct outcome outcome = {0};
    if (!probe || !input)
        return NULL;
    probe_host_invoke(&call->conformance, probe, &probe->host, call->conformance.tool_name, input,
                      &outcome);
    call->result = judge_parallel(call, &outcome);
    return NULL;
}

static enum case_result case_parallel(struct conformance *conformance, unsigned argument)
{
    (void)argument;
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
    const struct provider *provider;
    uint64_t call_id;
    uint64_t accepted_at_ms; /* 0: never */
};

/* Tries until the call has begun. */
static void *cancel_soon(void *argument)
{
    struct canceller *canceller = argument;
    uint64_t deadline = monotonic_ms() + CANCEL_WITHIN_MS;
    (void)usleep(300000);
    while (monotonic_ms() < deadline) {
        if (canceller->provider->cancel(canceller->call_id) == TOOL_ACCEPTED) {
            canceller->accepted_at_ms = monotonic_ms();
            break;
        }
        (void)usleep(20000);
    }
    return NULL;
}

static enum case_result judge_cancelled(struct conformance *conformance,
                                        const struct canceller *canceller,
                                        const struct outcome *outcome, uint64_t ended_at_ms)
{
    if (canceller->accepted_at_ms == 0)
        return case_fail(conformance, "tool_cancel() never accepted a running call");
    if (ended_at_ms - canceller->accepted_at_ms > CANCEL_WITHIN_MS)
        return case_fail(conformance, "the call ended %lld ms after its cancellation",
                         (long long)(ended_at_ms - canceller->accepted_at_ms));
    const char *status = json_member_string(outcome->result, "status", "none");
    if (strcmp(status, "cancelled") != 0)
        return case_fail(conformance, "status is %.40s, not cancelled", status);
    if (canceller->provider->cancel(canceller->call_id) != TOOL_UNKNOWN)
        return case_fail(conformance, "cancelling an ended call did not return TOOL_UNKNOWN");
    return CASE_PASSED;
}

static enum case_result case_cancel_running(struct conformance *conformance, unsigned argument)
{
    (void)argument;
    if (!conformance_input_has_marker(conformance->tool))
        return case_skip(conformance, "no known input makes this tool run for long");
    struct probe_host *probe = conformance->probe;
    CLEANUP_FREE char *input = conformance_input_sleeping();
    if (!input)
        return case_fail(conformance, "out of memory");
    struct canceller canceller = {&conformance->provider, probe->host.call_id, 0};
    CLEANUP(outcome_clear) struct outcome outcome = {0};
    pthread_t thread;
    if (pthread_create(&thread, NULL, cancel_soon, &canceller) != 0)
        return case_fail(conformance, "cannot start a thread");
    probe_host_invoke(conformance, probe, &probe->host, conformance->tool_name, input, &outcome);
    uint64_t ended_at_ms = monotonic_ms();
    (void)pthread_join(thread, NULL);
    return judge_cancelled(conformance, &canceller, &outcome, ended_at_ms);
}

const struct conformance_row conformance_lifecycle_rows[] = {
    {"cancel-running", case_cancel_running, 0, CASE_NEEDS_A_RUN},
    {"parallel", case_parallel, 0, CASE_NEEDS_A_RUN},
    {"shutdown-reuse", case_shutdown_reuse, 0, CASE_NEEDS_A_RUN},
    {"host-state", case_host_state, 0, CASE_LOADS_ITSELF},
    {"reload", case_reload, 0, CASE_LOADS_ITSELF},
    {"close-without-shutdown", case_close_without_shutdown, 0, CASE_LOADS_ITSELF},
};
const size_t conformance_lifecycle_row_count = COUNT_OF(conformance_lifecycle_rows);
