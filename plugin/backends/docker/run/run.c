/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the life of one run and the plugin's side of it: see run.h. Runs in the docker backend. */
#include "backends/docker/run/run.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "backends/docker/container/container_config.h"
#include "backends/docker/container/run_message.h"
#include "backends/docker/run/run_private.h"
#include "base/cleanup.h"

/* Containers that are removed while no run waits; beyond it the engine does not keep up. */
#define LEAVING_LIMIT 16
/* For a guest to kill its tree and say so, once it was ordered to. */
#define ORDER_LIMIT_US (UINT64_C(2) * 1000000)

/* All that is left is to remove the container, if any, and to report the end. */
static void cancel_and_remove(struct run *run)
{
    engine_call_cancel(TAKE_POINTER(run->call));
    image_waiter_leave(&run->waiter);
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
        failure = engine_fault_report(fault, &run->event);
    if (run->engine)
        run->engine->known = false; /* whatever it was, look again */
    run_fail(run, failure, 0, fault->message);
}

/* The program has all of it, or gets nothing more. */
static void drop_message(struct run *run)
{
    run_message_clear(&run->job.message);
    close_fd(TAKE_FD(run->job.inputs));
}

/* Layers of which both the engine's description and the process itself, or the engine's own facts,
 * have given evidence. */
static uint64_t layers_of(const struct run *run)
{
    static const uint64_t attested =
        LAYER_BIT(LAYER_PID_NAMESPACE) | LAYER_BIT(LAYER_MOUNT_NAMESPACE) |
        LAYER_BIT(LAYER_NETWORK_NAMESPACE) | LAYER_BIT(LAYER_IPC_NAMESPACE) |
        LAYER_BIT(LAYER_UTS_NAMESPACE) | LAYER_BIT(LAYER_CGROUP) |
        LAYER_BIT(LAYER_CGROUP_NAMESPACE) | LAYER_BIT(LAYER_READ_ONLY_ROOT) |
        LAYER_BIT(LAYER_SCRATCH) | LAYER_BIT(LAYER_PROC) | LAYER_BIT(LAYER_CAPABILITIES) |
        LAYER_BIT(LAYER_RESOURCE_LIMITS) | LAYER_BIT(LAYER_NO_NEW_PRIVILEGES) |
        LAYER_BIT(LAYER_SECCOMP);
    uint64_t given =
        run->description.network ? attested & ~LAYER_BIT(LAYER_NETWORK_NAMESPACE) : attested;
    if (run->description.endpoints)
        given |= LAYER_BIT(LAYER_ENDPOINT_BROKER);
    if (run->container->stream.landlock_abi)
        given |= LAYER_BIT(LAYER_LANDLOCK);
    /* It shows the container's path on the machine. */
    if (run->container->stream.facts & GUEST_FACT_BIT(GUEST_FACT_GVISOR))
        given &= ~LAYER_BIT(LAYER_CGROUP_NAMESPACE);
    return given | (run->engine->facts.user_namespace ? LAYER_BIT(LAYER_USER_NAMESPACE) : 0);
}

/* Guest and engine must both say that it is gVisor's: its containers have no filter of the engine,
 * and what a container may read of Linux' log can be anybody's. */
static bool check_kernel(struct run *run, bool is_gvisor)
{
    struct engine_fault fault;
    if (is_gvisor == engine_facts_runtime_is_gvisor(&run->engine->facts, run->options.runtime))
        return true;
    engine_fault_set(
        &fault, ENGINE_PROBLEM_ALTERED,
        is_gvisor ? "the container's kernel is gVisor's, and its runtime is not by name and path"
                  : "the runtime is gVisor's by its name, and the container's kernel is not");
    run_fail_engine(run, &fault);
    return false;
}

static void check_layers(struct run *run)
{
    uint64_t applied = layers_of(run);
    bool is_gvisor = run->container->stream.facts & GUEST_FACT_BIT(GUEST_FACT_GVISOR);
    struct engine_fault fault;
    if (!guest_facts_suffice(run->container->stream.facts)) {
        engine_fault_set(&fault, ENGINE_PROBLEM_ALTERED,
                         "the container's process has capabilities, privileges or system calls it "
                         "must not have (checks passed: %#x of %#x)",
                         run->container->stream.facts & GUEST_FACTS_ALL, GUEST_FACTS_ALL);
        run_fail_engine(run, &fault);
        return;
    }
    if (!check_kernel(run, is_gvisor))
        return;
    engine_report_note_kernel(is_gvisor ? GUEST_KERNEL_GVISOR : GUEST_KERNEL_LINUX,
                              &run->event.details);
    run->event.origin = run->container->warm ? SANDBOX_READY : SANDBOX_NEW;
    run->event.isolation = (struct isolation_report){
        .applied = applied,
        .missing = LAYERS_EVERY_RUN & ~applied,
        .landlock_abi = run->container->stream.landlock_abi,
        .cgroup_version = run->engine->facts.cgroup_version,
        .cgroup_has_memory = run->description.limits.memory_bytes != 0,
        .cgroup_has_pids = run->description.limits.processes != 0,
        .outer_uid = run->engine->facts.user_namespace ? 0 : CONTAINER_USER,
    };
    for (uint32_t layer = 0; layer < LAYER_COUNT; layer++) {
        if (!(run->description.required & ~applied & LAYER_BIT(layer)))
            continue;
        run->event.failed_layer = layer;
        run_fail(run, RUN_FAILURE_LAYER, 0, "docker does not provide it here");
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

/* Where the run may have left files, its guest kills the tree and lives on to hand them over. One
 * that does not say in time that the tree is gone goes with its container. */
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

/* A container that waited may be lost at the moment it is taken. A program has no effect outside of
 * its container, so the run can begin anew in another one until its start is reported. */
static bool can_begin_anew(const struct run *run)
{
    return run->container->warm && !run->clearing && !run->job.started && !run->killed &&
           run->event.failure == RUN_FAILURE_NONE;
}

/* The image with the guest was removed since it was looked up: by somebody's prune. */
static bool can_derive_anew(const struct run *run, const struct engine_fault *fault)
{
    return fault->problem == ENGINE_PROBLEM_IMAGE_GONE && !run->derived_anew && !run->clearing &&
           !run->killed && run->event.failure == RUN_FAILURE_NONE;
}

void run_container_failed(struct run *run, enum run_failure failure,
                          const struct engine_fault *fault)
{
    if (run->answered || run->container->told) {
        run_container_finished(run); /* it has only lost its files */
    } else if (can_derive_anew(run, fault)) {
        container_leave(TAKE_POINTER(run->container));
        run->derived_anew = true;
        run_ask_for_image(run);
    } else if (can_begin_anew(run)) {
        container_leave(TAKE_POINTER(run->container));
        run_make_container(run);
    } else if (failure == RUN_FAILURE_BACKEND) {
        run_fail_engine(run, fault);
    } else {
        run_fail(run, failure, 0, fault->message);
    }
}

/* That a container goes is part of what a trial tries. */
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
        run_go_on_with_engine(run);
    } else if (fault) {
        run->killed = false;
        run_fail_engine(run, fault);
    } else {
        run_conclude(run);
    }
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

/* Files by reference are on their way to the guest: that takes as long as it takes, as long as it
 * goes on, and the plugin is told so. */
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
    if (run_waits_for_packages(run))
        return;
    if (run->pull) {
        run_pull_tick(run);
    } else if (run->job.started && run->job.session && !run->killed) {
        run_session_expire(run);
    } else if (run->job.started ? run_wait_goes_on(run) : goes_on_sending(run)) {
        return;
    } else if (run->job.started) {
        if (!run->container || !container_end_last_look(run->container))
            run_order_end(run, RUN_CAUSE_WALL_TIMEOUT);
    } else {
        engine_fault_set(&fault, ENGINE_PROBLEM_SILENT,
                         "docker did not start the container in time");
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
    engine_call_cancel(run->call);
    image_waiter_leave(&run->waiter);
    drop_message(run);
    for (size_t i = 0; i < JOB_SENDERS; i++)
        socket_sender_close(&run->job.senders[i]);
    sweep_disown(run->sweep);
    free(run->pull);
    close_fd(run->socket);
    run_session_clear(run);
    for (size_t i = 0; i < JOB_PIPES; i++)
        close_fd(run->job.pipes[i]);
    run_description_clear(&run->description);
    docker_options_clear(&run->options);
    explicit_bzero(run, sizeof(*run)); /* the end of its output, which may name a secret */
    free(run);
}
