/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the life of one run and the plugin's side of it: see run.h. Runs in the docker backend. */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../../cleanup.h"
#include "../run_input.h"
#include "container_config.h"
#include "run_private.h"

#define INPUT_LIMIT RUN_DESCRIPTION_LIMIT

/* The first failure is the reason; whatever exists of the run is taken away. */
void run_fail(struct run *run, enum run_failure failure, int error_number, const char *message)
{
    if (run->event.failure == RUN_FAILURE_NONE && !run->killed)
        run_event_fail(&run->event, failure, error_number, message);
    run_remove(run);
}

void run_fail_engine(struct run *run, const struct engine_fault *fault)
{
    if (run->event.failure == RUN_FAILURE_NONE && !run->killed)
        run->event.engine_problem = fault->problem;
    if (run->engine)
        run->engine->known = false; /* whatever it was, look again */
    run_fail(run, RUN_FAILURE_ENGINE, 0, fault->message);
}

static bool read_description(int fd, struct run_description *ret)
{
    return run_read_description(fd, ret) && ret->isolation == RUN_ISOLATION_SANDBOX;
}

/* From here on the secrets are in the message alone. */
static bool make_message(struct run *run, int input_fd)
{
    size_t length = 0;
    CLEANUP_FREE unsigned char *input = run_read_file(input_fd, INPUT_LIMIT, &length);
    run->stream.message = bootstrap_message(&run->description, input, length, &run->stream.length);
    if (input)
        explicit_bzero(input, length);
    for (char **variable = run->description.environment; *variable; variable++)
        explicit_bzero(*variable, strlen(*variable));
    return run->stream.message != NULL;
}

/* Not the run's id: trials share one. */
static bool choose_name(struct run *run)
{
    unsigned char bytes[16];
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return false;
    (void)snprintf(run->name, sizeof(run->name), CONTAINER_NAME_PREFIX);
    for (size_t i = 0; i < sizeof(bytes); i++)
        (void)snprintf(run->name + strlen(CONTAINER_NAME_PREFIX) + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

static bool check_image(const struct run_docker *docker, struct engine_fault *fault)
{
    if (!engine_image_name_is_good(docker->image)) {
        engine_fault_set(fault, ENGINE_PROBLEM_IMAGE_UNUSED, "not an image's name: \"%.100s\"",
                         docker->image);
        return false;
    }
    if (docker->require_digest && !engine_image_is_pinned(docker->image)) {
        engine_fault_set(fault, ENGINE_PROBLEM_IMAGE_UNUSED,
                         "the policy wants images pinned by digest: %.100s is not", docker->image);
        return false;
    }
    return true;
}

static void begin(struct run *run, const int *fds)
{
    struct engine_fault fault;
    if (!read_description(fds[RUN_FD_DESCRIPTION], &run->description)) {
        run_fail(run, RUN_FAILURE_DESCRIPTION, EBADMSG, "unreadable description");
        return;
    }
    if (!choose_name(run) || !make_message(run, fds[RUN_FD_STDIN])) {
        run_fail(run, RUN_FAILURE_INTERNAL, EINVAL, "make the message to the container");
        return;
    }
    const struct run_docker *docker = &run->description.docker;
    if (run->description.purpose == RUN_PURPOSE_SWEEP || check_image(docker, &fault))
        run->engine = engine_find(run->environment, docker, &fault);
    if (run->engine)
        run_begin_steps(run);
    else
        run_fail_engine(run, &fault);
}

struct run *run_start(struct docker_environment *environment, const int fds[RUN_FD_COUNT])
{
    struct run *run = calloc(1, sizeof(*run));
    if (!run) {
        run_refuse(fds, ENOMEM, "no memory for the run");
        return NULL;
    }
    run->environment = environment;
    run->event = (struct run_event){
        .type = RUN_EVENT_ENDED,
        .exit_code = -1,
        .usage = {.user_us = RUN_USAGE_UNKNOWN,
                  .system_us = RUN_USAGE_UNKNOWN,
                  .peak_memory_bytes = RUN_USAGE_UNKNOWN,
                  .processes = RUN_USAGE_UNKNOWN},
    };
    run->socket = fds[RUN_FD_EVENTS];
    run->pipes[0] = fds[RUN_FD_STDOUT];
    run->pipes[1] = fds[RUN_FD_STDERR];
    (void)fcntl(run->pipes[0], F_SETFL, O_NONBLOCK);
    (void)fcntl(run->pipes[1], F_SETFL, O_NONBLOCK);
    run->started_us = monotonic_us();
    run->deadline_us = run->started_us + RUN_START_LIMIT_US;
    begin(run, fds);
    close_fd(fds[RUN_FD_DESCRIPTION]);
    close_fd(fds[RUN_FD_STDIN]);
    return run;
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
    return given | (run->engine->facts.user_namespace ? LAYER_BIT(LAYER_USER_NAMESPACE) : 0);
}

static bool check_layers(struct run *run)
{
    uint64_t applied = layers_of(run);
    struct engine_fault fault;
    if (run->stream.bootstrap.facts != BOOTSTRAP_FACTS_ALL) {
        engine_fault_set(&fault, ENGINE_PROBLEM_ALTERED,
                         "the container's process has capabilities, privileges or system calls it "
                         "must not have (%#x of %#x hold)",
                         run->stream.bootstrap.facts, BOOTSTRAP_FACTS_ALL);
        run_fail_engine(run, &fault);
        return false;
    }
    run->event.isolation = (struct isolation_report){
        .applied = applied,
        .missing = LAYERS_ALL & ~applied,
        .cgroup_version = run->engine->facts.cgroup_version,
        .cgroup_has_memory = run->description.limits.memory_bytes != 0,
        .cgroup_has_pids = run->description.limits.processes != 0,
        .outer_uid = run->engine->facts.user_namespace ? 0 : CONTAINER_USER,
    };
    for (uint32_t layer = 0; layer < LAYER_COUNT; layer++) {
        if (!(run->description.required & ~applied & LAYER_BIT(layer)))
            continue;
        run->event.failed_layer = layer;
        run_fail(run, RUN_FAILURE_LAYER, 0, "docker does not give it here");
        return false;
    }
    return true;
}

/* 0, never, for no limit and for one beyond the clock. */
static uint64_t wall_deadline(const struct run *run)
{
    uint64_t wall_us;
    uint64_t deadline;
    if (__builtin_mul_overflow(run->description.limits.wall_ms, UINT64_C(1000), &wall_us) ||
        wall_us == 0 || __builtin_add_overflow(run->started_us, wall_us, &deadline))
        return 0;
    return deadline;
}

void run_report_start(struct run *run)
{
    if (run->killed || run->event.failure != RUN_FAILURE_NONE || !check_layers(run))
        return;
    run->started = true;
    run->started_us = monotonic_us();
    run->deadline_us = wall_deadline(run);
    const struct run_event event = {
        .type = RUN_EVENT_STARTED,
        .isolation = run->event.isolation,
        .engine = run->event.engine,
        .exit_code = -1,
    };
    run_event_send(run->socket, &event);
}

void run_kill(struct run *run, enum run_cause cause)
{
    if (!run->killed && run->event.failure == RUN_FAILURE_NONE) {
        run->killed = true;
        run->kill_cause = cause;
    }
    run_remove(run);
}

static void handle_order(struct run *run)
{
    char order;
    ssize_t length = recv(run->socket, &order, sizeof(order), MSG_DONTWAIT);
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (length == 1 && order == RUN_ORDER_OUTPUT_LIMIT) {
        run_kill(run, RUN_CAUSE_OUTPUT_LIMIT);
        return;
    }
    if (length <= 0)
        close_fd(TAKE_FD(run->socket));
    run_kill(run, RUN_CAUSE_CANCELLED);
}

static void conclude(struct run *run)
{
    struct run_event *event = &run->event;
    event->usage.wall_us = monotonic_us() - run->started_us;
    if (event->failure != RUN_FAILURE_NONE)
        return;
    if (run->killed) {
        event->cause = run->kill_cause;
        event->exit_code = -1;
        event->signal = SIGKILL;
        return;
    }
    if (run->description.purpose != RUN_PURPOSE_SWEEP)
        container_cause_decide(&run->end, event);
}

void run_check_end(struct run *run)
{
    if (run->over)
        return;
    if (run->removed) {
        if (!run->stream.over && run->stream.connection)
            return;
        conclude(run);
        run_event_send(run->socket, &run->event);
        run->over = true;
        return;
    }
    if (!run->waited || !run->stream.over || run->removing)
        return;
    if (run->started || run->event.failure != RUN_FAILURE_NONE) {
        run_inspect_end(run);
        return;
    }
    char message[sizeof(run->event.message)];
    (void)snprintf(message, sizeof(message), "the container's set-up ended with %d: %.150s",
                   (int)run->end.status, run->stream.errors.detail);
    run_fail(run, RUN_FAILURE_INTERNAL, 0, message);
}

void run_handle(struct run *run)
{
    if (run->socket >= 0)
        handle_order(run);
    run_stream_handle(run);
    run_check_end(run);
}

size_t run_watches(const struct run *run, struct curl_waitfd watches[RUN_WATCHES_LIMIT])
{
    size_t count = 0;
    short interest = run_stream_interest(run);
    int pipe = run_stream_blocked_pipe(run);
    if (run->socket >= 0)
        watches[count++] = (struct curl_waitfd){.fd = run->socket, .events = CURL_WAIT_POLLIN};
    if (interest)
        watches[count++] = (struct curl_waitfd){.fd = engine_connection_fd(run->stream.connection),
                                                .events = interest};
    if (pipe >= 0)
        watches[count++] = (struct curl_waitfd){.fd = pipe, .events = CURL_WAIT_POLLOUT};
    return count;
}

uint64_t run_deadline(const struct run *run)
{
    return run->deadline_us;
}

bool run_is_ready(const struct run *run)
{
    return run->over || run_stream_is_ready(run);
}

void run_expire(struct run *run)
{
    struct engine_fault fault;
    run->deadline_us = 0;
    if (run->removed) {
        run_stream_close(run); /* an engine that lets go of a container but not of its stream */
        run_check_end(run);
    } else if (run->removing) {
        run_remove(run);
    } else if (run->pull) {
        run_pull_tick(run);
    } else if (run->started) {
        run_kill(run, RUN_CAUSE_WALL_TIMEOUT);
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
    run_stream_close(run);
    engine_call_cancel(run->call);
    engine_call_cancel(run->wait);
    sweep_disown(run->sweep);
    free(run->pull);
    close_fd(run->socket);
    close_fd(run->pipes[0]);
    close_fd(run->pipes[1]);
    json_decref(run->config);
    run_description_clear(&run->description);
    free(run);
}
