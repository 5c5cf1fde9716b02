/* SPDX-License-Identifier: Apache-2.0 */
/* A worker's backend without any connection: a run through the real code-execute-process, its end
 * and its new start, and the trial that readiness is made of. One thread. */
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backends/worker/local_backend.h"
#include "backends/worker/run_rewrite.h"
#include "backends/worker/trial.h"
#include "base/cleanup.h"
#include "base/string_list.h"
#include "protocol/run_event.h"
#include "tap_suite.h"

#define TURNS_MOST 600 /* of 100 ms each */

static const struct worker_configuration configuration = {
    .mode = WORKER_PROCESS, .outer_uid_base = 2000000000, .outer_uid_count = 1000};
static struct event_loop *loop;
static struct local_backend backend;
static unsigned ends;

static void on_ended(void *user)
{
    (void)user;
    ends++;
}

static void set_up(void)
{
    loop = event_loop_new();
    ck_assert_ptr_nonnull(loop);
    ends = 0;
    backend_program_look_beside(getenv("CODE_EXECUTE_SO"));
    local_backend_init(&backend, loop, worker_mode_program(WORKER_PROCESS));
    backend.ended = on_ended;
}

static void tear_down(void)
{
    local_backend_stop(&backend);
    event_loop_free(loop);
}

static int describe_python(const char *code)
{
    static const char *const view[] = {"/usr", "/bin", "/lib", "/lib64", "/etc/alternatives", NULL};
    CLEANUP(run_description_clear)
    struct run_description description = {
        .isolation = RUN_ISOLATION_SANDBOX,
        .limits = {.wall_ms = 60000,
                   .memory_bytes = UINT64_C(256) << 20,
                   .processes = 32,
                   .open_files = 64,
                   .scratch_bytes = 1 << 20,
                   .scratch_inodes = 64},
        .files = calloc(1, sizeof(struct run_file)),
        .file_count = 1,
    };
    const struct remote_offer offer = {.memory_bytes = UINT64_C(256) << 20};
    struct error error = {.message = ""};
    size_t length = 0;
    memset(description.run_id, 'b', RUN_ID_LENGTH);
    description.files[0] = (struct run_file){.path = strdup("main.py"),
                                             .content = (unsigned char *)strdup(code),
                                             .length = strlen(code)};
    ck_assert(string_list_append(&description.argv, "python3"));
    ck_assert(string_list_append(&description.argv, "main.py"));
    ck_assert(string_list_append(&description.runtime_path, "/usr/bin"));
    ck_assert(string_list_append_all(&description.read_only_paths, view));
    CLEANUP_FREE unsigned char *bytes = run_description_encode(&description, &length);
    ck_assert_msg(run_rewrite(&configuration, &offer, &bytes, &length, &error), "%s",
                  error.message);
    int fd = sealed_message_open("run", bytes, length, &error);
    ck_assert_int_ge(fd, 0);
    return fd;
}

/* Hands it over with ten descriptors, as the link brings them. ret_out: what it prints. */
static int start_python(const char *code, int *ret_out)
{
    int pair[2];
    int out[2];
    struct error error = {.message = ""};
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    ck_assert_int_eq(pipe2(out, O_CLOEXEC), 0);
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    int fds[RUN_FD_COUNT];
    for (int i = 0; i < RUN_FD_COUNT; i++)
        fds[i] = nowhere;
    fds[RUN_FD_EVENTS] = pair[1];
    fds[RUN_FD_DESCRIPTION] = describe_python(code);
    fds[RUN_FD_STDOUT] = out[1];
    fds[RUN_FD_STDERR] = out[1];
    ck_assert_msg(local_backend_start_run(&backend, fds, &error), "%s", error.message);
    (void)close(fds[RUN_FD_DESCRIPTION]);
    (void)close(nowhere);
    (void)close(out[1]);
    (void)close(pair[1]);
    *ret_out = out[0];
    return pair[0];
}

static struct run_event await_end(int events)
{
    unsigned char message[RUN_EVENT_MESSAGE_LIMIT];
    struct run_event event = {.type = 0};
    while (event.type != RUN_EVENT_ENDED) {
        ssize_t length = channel_receive(events, message, sizeof(message), NULL, 0, NULL);
        ck_assert_int_gt(length, 0);
        ck_assert(run_event_decode(message, (size_t)length, &event));
    }
    return event;
}

static void run_prints(void)
{
    char text[64] = "";
    CLEANUP_CLOSE int out = -1;
    CLEANUP_CLOSE int events = start_python("print(2**64)\n", &out);
    struct run_event ended = await_end(events);
    ck_assert_msg(ended.failure == RUN_FAILURE_NONE, "%u: %s", ended.failure, ended.message);
    ck_assert_int_eq(ended.exit_code, 0);
    ck_assert_int_gt(read(out, text, sizeof(text) - 1), 0);
    ck_assert_str_eq(text, "18446744073709551616\n");
}

START_TEST(run_goes_through_the_module)
{
    run_prints();
    run_prints();
    ck_assert_uint_eq(backend.starts, 1);
}
END_TEST

START_TEST(dead_backend_is_started_again)
{
    run_prints();
    CLEANUP_CLOSE int out = -1;
    CLEANUP_CLOSE int events = start_python("import time; time.sleep(600)\n", &out);
    unsigned char message[RUN_EVENT_MESSAGE_LIMIT];
    ck_assert_int_gt(channel_receive(events, message, sizeof(message), NULL, 0, NULL), 0);
    struct backend_program copy = backend.program;
    ck_assert_int_eq((int)syscall(SYS_pidfd_send_signal, copy.pidfd, SIGKILL, NULL, 0), 0);
    /* Its runs end: nothing is left of them. */
    ck_assert_int_le(channel_receive(events, message, sizeof(message), NULL, 0, NULL), 0);
    for (int turn = 0; ends == 0 && turn < TURNS_MOST; turn++)
        ck_assert_int_eq(event_loop_turn(loop, 100), 0);
    ck_assert_uint_eq(ends, 1);
    run_prints();
    ck_assert_uint_eq(backend.starts, 2);
}
END_TEST

START_TEST(missing_backend_is_named)
{
    const int fds[RUN_FD_COUNT] = {0};
    struct error error = {.message = ""};
    backend.name = "code-execute-nobody";
    ck_assert(!local_backend_start_run(&backend, fds, &error));
    ck_assert_int_eq(error.code, ERROR_BACKEND_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(error.message, "code-execute-nobody is not in /"));
}
END_TEST

static unsigned trials;
static struct error trial_error;

static void on_trial(void *user, const struct error *error)
{
    (void)user;
    trials++;
    trial_error = error ? *error : (struct error){.message = ""};
}

static void try_out(const struct worker_configuration *of)
{
    struct trial trial = {
        .loop = loop, .backend = &backend, .configuration = of, .ended = on_trial};
    trials = 0;
    trial_init(&trial);
    trial_begin(&trial);
    trial_begin(&trial); /* one at a time */
    for (int turn = 0; trials == 0 && turn < TURNS_MOST; turn++)
        ck_assert_int_eq(event_loop_turn(loop, 100), 0);
    ck_assert_uint_eq(trials, 1);
    trial_clear(&trial);
}

START_TEST(trial_applies_every_layer)
{
    try_out(&configuration);
    ck_assert_str_eq(trial_error.message, "");
}
END_TEST

START_TEST(trial_fails_where_nothing_is_shown)
{
    char *nothing[] = {(char[]){"/nonexistent"}, NULL};
    struct worker_configuration without = configuration;
    without.read_only = nothing;
    try_out(&without);
    ck_assert_int_eq(trial_error.code, ERROR_RUNTIME_NOT_FOUND);
    ck_assert_uint_gt(strlen(trial_error.hint), 0);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("local backend");
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, run_goes_through_the_module);
    tcase_add_test(cases, dead_backend_is_started_again);
    tcase_add_test(cases, missing_backend_is_named);
    tcase_add_test(cases, trial_applies_every_layer);
    tcase_add_test(cases, trial_fails_where_nothing_is_shown);
    return run_suite("local backend", &cases, 1);
}
