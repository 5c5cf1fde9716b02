/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program in the place of code-execute-process that behaves badly in the way that the directory
 * it stands in is named after (see the table below), or well where a file "recovered" stands beside
 * it or the name is none of them. Single-threaded; ends with its control socket, and after a minute
 * in any case.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "protocol/channel.h"
#include "protocol/pool_report.h"
#include "protocol/run_description.h"
#include "protocol/run_event.h"

#define LIFETIME_S    60
#define FLOOD_WRITERS 8

struct run {
    int fds[RUN_FD_COUNT];
};

/* false: nobody hears it any more. */
static bool send_event(const struct run *run, const struct run_event *event)
{
    unsigned char message[RUN_EVENT_MESSAGE_LIMIT];
    size_t length = run_event_encode(event, message);
    return channel_send(run->fds[RUN_FD_EVENTS], message, length, NULL, 0) == 0;
}

static bool send_started(const struct run *run)
{
    const struct run_event event = {
        .type = RUN_EVENT_STARTED,
        .exit_code = -1,
        .isolation = {.applied = LAYER_BIT(LAYER_SECCOMP)},
    };
    return send_event(run, &event);
}

static struct run_event ended(void)
{
    return (struct run_event){
        .type = RUN_EVENT_ENDED,
        .isolation = {.applied = LAYER_BIT(LAYER_SECCOMP)},
    };
}

static void send_ended(const struct run *run)
{
    const struct run_event event = ended();
    (void)send_event(run, &event);
}

static void only_start(const struct run *run)
{
    (void)send_started(run);
}

static void behave_well(const struct run *run)
{
    (void)send_started(run);
    send_ended(run);
}

static void close_events(const struct run *run)
{
    (void)send_started(run);
    (void)shutdown(run->fds[RUN_FD_EVENTS], SHUT_RDWR);
}

static void send_garbage(const struct run *run)
{
    (void)send_started(run);
    (void)channel_send(run->fds[RUN_FD_EVENTS], "garbage", 7, NULL, 0);
}

static void send_oversized(const struct run *run)
{
    static const char bytes[2 * RUN_EVENT_MESSAGE_LIMIT];
    (void)send_started(run);
    (void)channel_send(run->fds[RUN_FD_EVENTS], bytes, sizeof(bytes), NULL, 0);
}

static void send_descriptors(const struct run *run)
{
    (void)send_started(run);
    (void)channel_send(run->fds[RUN_FD_EVENTS], "x", 1, run->fds, RUN_FD_COUNT);
}

/* As an init does that is killed between the program's first words and its own. */
static void end_before_start(const struct run *run)
{
    char order;
    struct run_event event = ended();
    event.cause = RUN_CAUSE_CANCELLED;
    event.exit_code = -1;
    (void)recv(run->fds[RUN_FD_EVENTS], &order, sizeof(order), 0);
    (void)send_event(run, &event);
}

/* Each would begin the run's time again. */
static void start_again_and_again(const struct run *run)
{
    if (fork() != 0)
        return;
    (void)alarm(LIFETIME_S);
    while (send_started(run)) {

        (void)usleep(100000);
    }
    _exit(0);
}

static void send_bad_exit_code(const struct run *run)
{
    struct run_event event = ended();
    event.exit_code = 100000;
    (void)send_started(run);
    (void)send_event(run, &event);
}

static void send_bad_signal(const struct run *run)
{
    struct run_event event = ended();
    event.exit_code = -1;
    event.cause = RUN_CAUSE_SIGNAL;
    event.signal = 1 << 30;
    (void)send_started(run);
    (void)send_event(run, &event);
}

static void send_exit_without_code(const struct run *run)
{
    struct run_event event = ended();
    event.exit_code = -1;
    (void)send_started(run);
    (void)send_event(run, &event);
}

static void find_no_program(const struct run *run)
{
    struct run_event event = ended();
    event.exit_code = -1;
    event.cause = RUN_CAUSE_INFRASTRUCTURE;
    event.failure = RUN_FAILURE_RUNTIME_MISSING;
    (void)snprintf(event.message, sizeof(event.message), "sh");
    (void)send_event(run, &event);
}

static void send_bad_cause(const struct run *run)
{
    struct run_event event = ended();
    event.cause = RUN_CAUSE_COUNT;
    (void)send_started(run);
    (void)send_event(run, &event);
}

static void send_bad_usage(const struct run *run)
{
    struct run_event event = ended();
    event.usage.peak_memory_bytes = UINT64_MAX - 1;
    (void)send_started(run);
    (void)send_event(run, &event);
}

/* Faster than anybody can read, until nobody does any more. */
static void flood(const struct run *run)
{
    char bytes[4096];
    memset(bytes, 'y', sizeof(bytes));
    int writers = 0;
    while (writers < FLOOD_WRITERS && fork() != 0)
        writers++;
    if (writers == FLOOD_WRITERS)
        return;
    (void)alarm(LIFETIME_S);
    while (write(run->fds[RUN_FD_STDOUT], bytes, sizeof(bytes)) > 0)
        continue;
    _exit(0);
}

static void flood_after_end(const struct run *run)
{
    (void)send_started(run);
    flood(run);
    send_ended(run);
}

static void flood_without_end(const struct run *run)
{
    (void)send_started(run);
    flood(run);
}

__attribute__((noreturn)) static void die(const struct run *run)
{
    (void)send_started(run);
    _exit(1);
}

__attribute__((noreturn)) static void die_before_start(const struct run *run)
{
    (void)run;
    _exit(1);
}

/* What happens to a run that is not a trial; its descriptors stay open. */
static const struct {
    const char *name;
    void (*behave)(const struct run *run);
} run_behaviours[] = {
    {"closes-its-socket", close_events},
    {"sends-garbage", send_garbage},
    {"sends-too-much", send_oversized},
    {"sends-descriptors", send_descriptors},
    {"starts-again-and-again", start_again_and_again},
    {"ends-without-start", send_ended},
    {"finds-no-program", find_no_program},
    {"ends-before-its-start", end_before_start},
    {"lies-about-exit-code", send_bad_exit_code},
    {"lies-about-signal", send_bad_signal},
    {"lies-about-cause", send_bad_cause},
    {"lies-about-usage", send_bad_usage},
    {"exits-without-code", send_exit_without_code},
    {"floods-after-end", flood_after_end},
    {"floods-without-end", flood_without_end},
    {"never-ends", only_start},
    {"dies", die},
    {"dies-before-it-tells", die_before_start},
    {"keeps-pipes-open", behave_well},
};

static bool is_trial(const struct run *run)
{
    CLEANUP(run_description_clear) struct run_description description = {.file_count = 0};
    struct stat status;
    if (fstat(run->fds[RUN_FD_DESCRIPTION], &status) != 0)
        return false;
    CLEANUP_FREE unsigned char *bytes = malloc((size_t)status.st_size);
    return bytes != NULL &&
           pread(run->fds[RUN_FD_DESCRIPTION], bytes, (size_t)status.st_size, 0) ==
               status.st_size &&
           run_description_decode(bytes, (size_t)status.st_size, &description) &&
           description.purpose == RUN_PURPOSE_TRIAL;
}

static void serve_run(const char *behaviour, const struct run *run)
{
    static const char output[] = "partial\n";
    if (strcmp(behaviour, "never-answers") == 0)
        return;
    if (is_trial(run)) {
        behave_well(run);
        return;
    }
    (void)!write(run->fds[RUN_FD_STDOUT], output, sizeof(output) - 1);
    for (size_t i = 0; i < COUNT_OF(run_behaviours); i++) {
        if (strcmp(behaviour, run_behaviours[i].name) == 0) {
            run_behaviours[i].behave(run);
            return;
        }
    }
    behave_well(run);
    for (int i = 0; i < RUN_FD_COUNT; i++)
        close_fd(run->fds[i]);
}

/* What is asked about what is ready; it has one of two. */
static void answer_question(const char *behaviour, int socket)
{
    unsigned char message[2 * POOL_REPORT_LENGTH] = {0};
    struct pool_report report = {.rows = {{.ready = 1, .wanted = 2, .memory_bytes = 3}}};
    if (strcmp(behaviour, "lies-about-pools") == 0)
        report.rows[RUN_INTERPRETER_COUNT - 1].ready = RUN_POOL_LIMIT + 1;
    pool_report_encode(&report, message);
    bool more = strcmp(behaviour, "says-too-much-about-pools") == 0;
    bool less = strcmp(behaviour, "says-too-little-about-pools") == 0;
    size_t length = POOL_REPORT_LENGTH + (more ? 1 : 0) - (less ? 1 : 0);
    size_t fds = strcmp(behaviour, "sends-descriptors-about-pools") == 0 ? 1 : 0;
    if (strcmp(behaviour, "says-nothing-of-pools") == 0)
        return;
    if (strcmp(behaviour, "closes-when-asked-about-pools") != 0)
        (void)channel_send(socket, message, length, &socket, fds);
    close_fd(socket);
}

static void serve(const char *behaviour)
{
    for (;;) {
        struct run run;
        char order = 0;
        size_t count = 0;
        ssize_t length = channel_receive(BACKEND_CONTROL_FD, &order, sizeof(order), run.fds,
                                         RUN_FD_COUNT, &count);
        if (length <= 0)
            return;
        if (count == RUN_FD_COUNT)
            serve_run(behaviour, &run);
        if (count == 1 && order == CONTROL_POOL)
            answer_question(behaviour, run.fds[0]);
    }
}

static void say_hello(const char *behaviour)
{
    struct backend_hello hello = {.protocol_version = PROTOCOL_VERSION, .pid = getpid()};
    struct ucred host;
    socklen_t length = sizeof(host);
    if (strcmp(behaviour, "is-of-another-version") == 0)
        hello.protocol_version++;
    if (strcmp(behaviour, "says-it-is-the-host") == 0 &&
        getsockopt(BACKEND_CONTROL_FD, SOL_SOCKET, SO_PEERCRED, &host, &length) == 0)
        hello.pid = host.pid;
    size_t size = strcmp(behaviour, "says-half-a-hello") == 0 ? 4 : sizeof(hello);
    (void)channel_send(BACKEND_CONTROL_FD, &hello, size, NULL, 0);
}

/* The name of the directory that the program stands in. */
static const char *find_behaviour(char path[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - sizeof("recovered"));
    if (length <= 0)
        return "";
    path[length] = '\0';
    char *slash = strrchr(path, '/');
    memcpy(slash + 1, "recovered", sizeof("recovered"));
    if (access(path, F_OK) == 0)
        return "";
    *slash = '\0';
    return strrchr(path, '/') + 1;
}

static void await_control_end(void)
{
    char byte;
    while (recv(BACKEND_CONTROL_FD, &byte, 1, 0) > 0)
        continue;
}

int main(void)
{
    char path[PATH_MAX];
    const char *behaviour = find_behaviour(path);
    (void)alarm(LIFETIME_S);
    if (strcmp(behaviour, "exits-at-once") == 0)
        return 0;
    if (strcmp(behaviour, "never-leaves-its-parent") == 0)
        await_control_end();
    (void)close_range(BACKEND_CONTROL_FD + 1, ~0U, 0);
    if (fork() != 0)
        _exit(0);
    (void)alarm(LIFETIME_S);
    if (strcmp(behaviour, "never-says-hello") == 0)
        await_control_end();
    say_hello(behaviour);
    serve(behaviour);
    while (strcmp(behaviour, "outlives-its-host") == 0)
        (void)pause();
    return 0;
}
