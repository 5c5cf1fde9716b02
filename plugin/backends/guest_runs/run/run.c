/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the life of one run and the plugin's side of it: see run.h. Runs in a backend of containers.
 */
#include "backends/guest_runs/run/run.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "backends/guest_runs/container/run_message.h"
#include "backends/guest_runs/run/run_private.h"
#include "base/cleanup.h"

/* Containers that are removed while no run waits; beyond it the engine does not keep up. */
#define LEAVING_LIMIT 16
/* For a guest to kill its tree and say so, once it was ordered to. */
#define ORDER_LIMIT_US (UINT64_C(2) * 1000000)

static const struct guest_provider *provider_of(const struct run *run)
{
    return run->environment->provider;
}

/* All that is left is to remove the container, if any, and to report the end. */
static void cancel_and_remove(struct run *run)
{
    provider_of(run)->stop(run);
    run->deadline_us = 0;
    if (run->container)
        container_remove(run->container);
    else
        run_conclude(run);
}

/* The first failure is the reason; the container, if any, is removed. */
void run_fail(struct run *run, enum run_failure failure, int error_number, const char *message)
{
    if (run->event.failure == RUN_FAILURE_NONE && !run->killed)
        run_event_fail(&run->event, failure, error_number, message);
    cancel_and_remove(run);
}

void run_fail_engine(struct run *run, const struct engine_fault *fault)
{
    enum run_failure failure = RUN_FAILURE_BACKEND;
    if (run->event.failure == RUN_FAILURE_NONE && !run->killed)
        failure = provider_of(run)->report(fault, &run->event);
    if (run->engine)
        provider_of(run)->doubt(run->engine); /* whatever it was, look again */
    run_fail(run, failure, 0, fault->message);
}

/* The program has the whole message, or gets no more of it. */
static void drop_message(struct run *run)
{
    run_message_clear(&run->job.message);
    close_fd(TAKE_FD(run->job.inputs));
}

static void describe_lack(const struct run *run, enum isolation_layer layer, char *ret, size_t size)
{
    const struct guest_provider *provider = provider_of(run);
    const char *why = provider->explain_layer ? provider->explain_layer(run, layer) : NULL;
    if (why)
        (void)snprintf(ret, size, "%s: %s", provider->name, why);
    else
        (void)snprintf(ret, size, "%s does not provide it here", provider->name);
}

static void check_layers(struct run *run)
{
    const struct container_stream *stream = &run->container->stream;
    struct isolation_report report = {.landlock_abi = stream->landlock_abi,
                                      .cgroup_has_memory =
                                          run->description.limits.memory_bytes != 0,
                                      .cgroup_has_pids = run->description.limits.processes != 0};
    struct engine_fault fault;
    if (!guest_facts_suffice(stream->facts)) {
        engine_fault_set(&fault, FAULT_ALTERED,
                         "the container's process has capabilities, privileges or system calls it "
                         "must not have (checks passed: %#x of %#x)",
                         stream->facts & GUEST_FACTS_ALL, GUEST_FACTS_ALL);
        run_fail_engine(run, &fault);
        return;
    }
    if (!provider_of(run)->judge(run, &report))
        return;
    report.missing = LAYERS_EVERY_RUN & ~report.applied;
    run->event.origin = run->container->warm ? SANDBOX_READY : SANDBOX_NEW;
    run->event.isolation = report;
    for (uint32_t layer = 0; layer < LAYER_COUNT; layer++) {
        char message[128];
        if (!(run->description.required & ~report.applied & LAYER_BIT(layer)))
            continue;
        describe_lack(run, (enum isolation_layer)layer, message, sizeof(message));
        run->event.failed_layer = layer;
        run_fail(run, RUN_FAILURE_LAYER, 0, message);
        return;
    }
}

void run_check_guest(struct run *run)
{
    if (!run->killed && run->event.failure == RUN_FAILURE_NONE)
        check_layers(run);
}

void run_report_start(struct run *run)
{
    if (run->killed || run->event.failure != RUN_FAILURE_NONE)
        return;
    run->job.started = true;
    run->container->deadline_us = 0;
    drop_message(run);
    run->started_us = monotonic_us();
    run->deadline_us = run_wall_deadline(run);
    if (run->job.session)
        run_session_started(run);
    struct run_event event = {
        .type = RUN_EVENT_STARTED,
        .isolation = run->event.isolation,
        .details = run->event.details,
        .exit_code = -1,
    };
    memcpy(event.image_id, run->event.image_id, sizeof(event.image_id));
    run_event_send(run->socket, &event);
}

void run_container_missing(struct run *run)
{
    run_fail(run, RUN_FAILURE_RUNTIME_MISSING, ENOENT, run->description.argv[0]);
}

void run_container_finished(struct run *run)
{
    if (!run->answered) {
        cancel_and_remove(run);
        return;
    }
    run->deadline_us = 0;
    run->over = true;
    if (run->container)
        container_leave(TAKE_POINTER(run->container));
}

/* Only the first cause counts. */
static void note_kill(struct run *run, enum run_cause cause)
{
    if (run->killed || run->event.failure != RUN_FAILURE_NONE)
        return;
    run->killed = true;
    run->kill_cause = cause;
}

void run_kill(struct run *run, enum run_cause cause)
{
    if (run->answered) {
        run_container_finished(run);
        return;
    }
    note_kill(run, cause);
    cancel_and_remove(run);
}

/* If the run may have left files, its guest kills the process tree and then sends them. If the
 * guest does not report in time that the tree is gone, the container is removed. */
void run_order_end(struct run *run, enum run_cause cause)
{
    bool may_leave_files = run->job.started && (run->job.collects || run->job.session) &&
                           run->container && !run->answered && !run->ordered && !run->killed;
    if (!may_leave_files || !container_order_end(run->container)) {
        run_kill(run, cause);
        return;
    }
    note_kill(run, cause);
    run->ordered = true;
    run->deadline_us = monotonic_us() + ORDER_LIMIT_US;
}

static void settle_end(struct run *run)
{
    struct run_event *event = &run->event;
    event->usage.wall_us = monotonic_us() - run->started_us;
    if (event->failure != RUN_FAILURE_NONE)
        return;
    if (run->killed) {
        event->cause = run->kill_cause;
        event->exit_code = -1;
        event->signal = SIGKILL;
    }
}

static void answer(struct run *run)
{
    if (run->answered)
        return;
    settle_end(run);
    run_event_send(run->socket, &run->event);
    run->answered = true;
}

void run_conclude(struct run *run)
{
    answer(run);
    run->over = true;
}

static bool may_go_on(const struct run *run)
{
    return !run->clearing && !run->killed && run->event.failure == RUN_FAILURE_NONE;
}

/* A container that waited may be lost at the moment it is taken. A program has no effect outside of
 * its container, so the run can begin anew in another one until its start is reported. */
static bool can_begin_anew(const struct run *run)
{
    return run->container->warm && !run->job.started && may_go_on(run);
}

void run_container_failed(struct run *run, enum run_failure failure,
                          const struct engine_fault *fault)
{
    if (run->answered || run->container->told) {
        run_container_finished(run); /* it has only lost its files */
    } else if (may_go_on(run) && provider_of(run)->begin_anew(run, fault)) {
        return;
    } else if (can_begin_anew(run)) {
        container_leave(TAKE_POINTER(run->container));
        provider_of(run)->make_container(run);
    } else if (failure == RUN_FAILURE_BACKEND) {
        run_fail_engine(run, fault);
    } else {
        run_fail(run, failure, 0, fault->message);
    }
}

/* A trial also tries the removal of its container. */
static bool waits_for_removal(const struct run *run)
{
    return run->description.purpose == RUN_PURPOSE_TRIAL ||
           container_count_leaving(run->environment) >= LEAVING_LIMIT;
}

/* The engine does not report their number. */
static void note_memory_kill(struct run *run)
{
    if (run->container->memory_killed || run->container->end.memory_killed)
        run->event.usage.memory_kills = 1;
}

void run_container_ended(struct run *run)
{
    container_cause_decide(&run->container->end, &run->event);
    note_memory_kill(run);
    run->deadline_us = 0;
    if (!waits_for_removal(run))
        answer(run);
}

void run_container_gone(struct run *run, const struct engine_fault *fault)
{
    if (!run->clearing)
        note_memory_kill(run);
    struct container *container = TAKE_POINTER(run->container);
    bool cleared = run->clearing && !fault && !run->killed;
    container->job = NULL;
    run->clearing = false;
    if (cleared && run->event.failure == RUN_FAILURE_NONE) {
        provider_of(run)->go_on(run);
    } else if (fault) {
        run->killed = false;
        run_fail_engine(run, fault);
    } else {
        run_conclude(run);
    }
}

void run_remove_first(struct run *run, struct container *container)
{
    run->clearing = true;
    run->container = container;
    run->deadline_us = monotonic_us() + CONTAINER_START_LIMIT_US;
    container_stream_close(container);
    container_retry(container, &run->job);
}

void run_begin_on_engine(struct run *run)
{
    struct container *stuck = container_stuck(run->environment, run->engine);
    if (!stuck) {
        provider_of(run)->go_on(run);
        return;
    }
    run_remove_first(run, stuck);
}

void run_handle(struct run *run)
{
    if (run->socket >= 0)
        run_take_order(run);
    if (run_session_places(run) > 0)
        run_session_take_cell(run);
}

size_t run_watches(const struct run *run, struct curl_waitfd watches[RUN_WATCHES_LIMIT])
{
    size_t count = 0;
    int pipe = run->container ? container_stream_blocked_pipe(run->container) : -1;
    if (run->socket >= 0)
        watches[count++] = (struct curl_waitfd){.fd = run->socket, .events = CURL_WAIT_POLLIN};
    for (size_t i = 0; i < run_session_places(run); i++)
        watches[count++] = (struct curl_waitfd){.fd = run->cells[i], .events = CURL_WAIT_POLLIN};
    if (pipe >= 0)
        watches[count++] = (struct curl_waitfd){.fd = pipe, .events = CURL_WAIT_POLLOUT};
    for (size_t i = 0; run->container && i < JOB_SENDERS; i++) {
        int fd = container_sender_socket(run->container, (enum job_sender)i);
        if (fd >= 0)
            watches[count++] = (struct curl_waitfd){.fd = fd, .events = CURL_WAIT_POLLIN};
    }
    return count;
}

uint64_t run_deadline(const struct run *run)
{
    return run->deadline_us;
}

/* Files by reference are being sent to the guest. There is no time limit while bytes move, and the
 * plugin is told about the progress. */
static bool goes_on_sending(struct run *run)
{
    uint64_t total = run->container ? run->container->stream.sender.total : 0;
    if (run->job.message.gap_count == 0 || total == run->sent)
        return false;
    const struct run_event event = {.type = RUN_EVENT_PROGRESS, .exit_code = -1};
    run->sent = total;
    run_event_send(run->socket, &event);
    run->deadline_us = monotonic_us() + CONTAINER_START_LIMIT_US;
    return true;
}

void run_expire(struct run *run)
{
    struct engine_fault fault;
    run->deadline_us = 0;
    if (provider_of(run)->expire(run))
        return;
    if (run->job.started && run->job.session && !run->killed) {
        run_session_expire(run);
    } else if (run->job.started ? run_wait_goes_on(run) : goes_on_sending(run)) {
        return;
    } else if (run->job.started) {
        if (!run->container || !container_end_last_look(run->container))
            run_order_end(run, RUN_CAUSE_WALL_TIMEOUT);
    } else {
        engine_fault_set(&fault, FAULT_SILENT, "%s did not start the container in time",
                         provider_of(run)->name);
        run_fail_engine(run, &fault);
    }
}

void run_abandon(struct run *run)
{
    close_fd(TAKE_FD(run->socket));
    run_kill(run, RUN_CAUSE_CANCELLED);
}

bool run_is_over(const struct run *run)
{
    return run->over;
}

void run_free(struct run *run)
{
    if (run->container)
        container_leave(TAKE_POINTER(run->container));
    drop_message(run);
    for (size_t i = 0; i < JOB_SENDERS; i++)
        socket_sender_close(&run->job.senders[i]);
    close_fd(run->socket);
    run_session_clear(run);
    for (size_t i = 0; i < JOB_PIPES; i++)
        close_fd(run->job.pipes[i]);
    run_description_clear(&run->description);
    provider_of(run)->free_run(run);
}
