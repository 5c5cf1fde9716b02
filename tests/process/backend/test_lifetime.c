/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing outlives its run, its supervisor or its host, and nothing delays an answer. */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sanitizers.h"
#include "suite.h"

/* A command line that nobody else has. */
static const char *unique_sleep(void)
{
    static char text[32];
    static unsigned int serial;
    (void)snprintf(text, sizeof(text), "7%05d.%u", getpid() % 100000, ++serial);
    return text;
}

static bool gone_within(const char *text, double seconds)
{
    double end = now_seconds() + seconds * slowness();
    while (now_seconds() < end) {
        if (count_processes(text) == 0)
            return true;
        (void)usleep(5000);
    }
    return false;
}

static bool appears(const char *text)
{
    for (int i = 0; i < 1000; i++) {
        if (count_processes(text))
            return true;
        (void)usleep(5000);
    }
    return false;
}

static struct running begin_sleep(uint32_t isolation, const char *sleep)
{
    struct run_description description = describe(WORDS("sleep", sleep));
    description.isolation = isolation;
    struct running running = run_begin(&backend, &description);
    run_await_start(&running);
    ck_assert(appears(sleep));
    return running;
}

START_TEST(orders_end_a_run)
{
    static const struct {
        char order;
        enum run_cause cause;
    } orders[] = {{RUN_ORDER_CANCEL, RUN_CAUSE_CANCELLED},
                  {RUN_ORDER_OUTPUT_LIMIT, RUN_CAUSE_OUTPUT_LIMIT}};
    for (uint32_t isolation = RUN_ISOLATION_NONE; isolation <= RUN_ISOLATION_SANDBOX; isolation++) {
        for (size_t i = 0; i < COUNT_OF(orders); i++) {
            struct running running = begin_sleep(isolation, unique_sleep());
            ck_assert_int_eq(channel_send(running.events, &orders[i].order, 1, NULL, 0), 0);
            run_finish(&running, &outcome);
            expect_cause(&outcome, orders[i].cause);
            ck_assert(outcome.seconds < 0.5 * slowness());
        }
    }
}
END_TEST

START_TEST(closed_socket_ends_a_run)
{
    for (uint32_t isolation = RUN_ISOLATION_NONE; isolation <= RUN_ISOLATION_SANDBOX; isolation++) {
        const char *sleep = unique_sleep();
        struct running running = begin_sleep(isolation, sleep);
        close_fd(running.events);
        ck_assert(gone_within(sleep, 1));
        close_fd(running.output);
        close_fd(running.errors);
    }
}
END_TEST

START_TEST(daemon_does_not_delay)
{
    for (uint32_t isolation = RUN_ISOLATION_NONE; isolation <= RUN_ISOLATION_SANDBOX; isolation++) {
        char code[128];
        const char *sleep = unique_sleep();
        (void)snprintf(code, sizeof(code),
                       "setsid sleep %s & (setsid sleep %s &) ; sleep 0.1; echo done", sleep,
                       sleep);
        struct run_description description = describe(WORDS("sh", "-c", code));
        description.isolation = isolation;
        expect_output(&description, "done\n");
        ck_assert(outcome.seconds < 1.0 * slowness());
        ck_assert_int_eq(count_processes(sleep), 0);
    }
}
END_TEST

START_TEST(stopped_tree_still_dies)
{
    struct run_description description = describe(WORDS("sh", "-c", "kill -STOP $$"));
    description.limits.wall_ms = 300;
    for (uint32_t isolation = RUN_ISOLATION_NONE; isolation <= RUN_ISOLATION_SANDBOX; isolation++) {
        description.isolation = isolation;
        run(&backend, &description, &outcome);
        expect_cause(&outcome, RUN_CAUSE_WALL_TIMEOUT);
    }
}
END_TEST

/* Entries of a directory whose name begins so. */
static int count_entries(const char *path, const char *prefix)
{
    int count = 0;
    DIR *directory = opendir(path);
    struct dirent *entry;
    while (directory && (entry = readdir(directory)))
        count += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
    if (directory)
        (void)closedir(directory);
    return count;
}

static void expect_gone(const char *prefix)
{
    for (int i = 0; i < 1000 && count_entries("/tmp", prefix) > 0; i++)
        (void)usleep(1000);
    ck_assert_int_eq(count_entries("/tmp", prefix), 0);
}

/* Mode none: the subreaper is the same user's process. Another run must not notice. */
START_TEST(killed_subreaper_leaves_nothing)
{
    char code[256];
    char prefix[64];
    char kept[32];
    (void)snprintf(kept, sizeof(kept), "%s", unique_sleep());
    struct running other = begin_sleep(RUN_ISOLATION_NONE, kept);
    const char *sleep = unique_sleep();
    (void)snprintf(
        code, sizeof(code),
        "setsid sleep %s & (sleep %s; sleep %s) & echo > file; sleep 0.3; kill -KILL $PPID; "
        "sleep %s; echo late",
        sleep, sleep, sleep, sleep);
    struct run_description description = describe(WORDS("sh", "-c", code));
    description.isolation = RUN_ISOLATION_NONE;
    run(&backend, &description, &outcome);
    ck_assert_int_eq(count_processes(sleep), 0);
    ck_assert_int_eq(count_processes(kept), 1);
    expect_cause(&outcome, RUN_CAUSE_SIGNAL);
    ck_assert_int_eq(outcome.end.signal, SIGKILL);
    ck_assert_str_eq(outcome.output, "");
    ck_assert(outcome.seconds < 1.5 * slowness());
    char order = RUN_ORDER_CANCEL;
    ck_assert_int_eq(channel_send(other.events, &order, 1, NULL, 0), 0);
    run_finish(&other, &outcome);
    expect_cause(&outcome, RUN_CAUSE_CANCELLED);
    (void)snprintf(prefix, sizeof(prefix), "code-execute-%d-", (int)backend.pid);
    expect_gone(prefix);
}
END_TEST

/* Stopped again as often as it is let go on; by itself the program gives up after five seconds. */
START_TEST(stopped_subreaper_does_not_hold_up)
{
    char code[256];
    const char *sleep = unique_sleep();
    (void)snprintf(
        code, sizeof(code),
        "sleep %s & p=$!; sleep 0.1; i=0; while [ $i -lt 500 ]; do kill -STOP $PPID || break; "
        "sleep 0.01; i=$((i+1)); done; kill $p; kill -CONT $PPID",
        sleep);
    struct run_description description = describe(WORDS("sh", "-c", code));
    description.isolation = RUN_ISOLATION_NONE;
    description.limits.wall_ms = 300;
    run(&backend, &description, &outcome);
    expect_cause(&outcome, RUN_CAUSE_WALL_TIMEOUT);
    ck_assert_int_eq(count_processes(sleep), 0);
    ck_assert(outcome.seconds < 2.5 * slowness());
}
END_TEST

/* Many more than the run may have at once. */
START_TEST(zombies_are_reaped)
{
    struct run_description description = describe(
        WORDS("python3", "-c",
              "import os\nfor i in range(500):\n p=os.fork()\n if p==0:\n"
              "  if os.fork()==0: os._exit(0)\n  os._exit(0)\n os.waitpid(p,0)\nprint('done')"));
    expect_output(&description, "done\n");
}
END_TEST

START_TEST(end_of_control_ends_all)
{
    const char *sandboxed = unique_sleep();
    struct running first = begin_sleep(RUN_ISOLATION_SANDBOX, sandboxed);
    char kept[32];
    (void)snprintf(kept, sizeof(kept), "%s", sandboxed);
    const char *unconfined = unique_sleep();
    struct running second = begin_sleep(RUN_ISOLATION_NONE, unconfined);
    pid_t supervisor = backend.pid;
    backend_stop(&backend);
    ck_assert(!process_is_alive(supervisor));
    ck_assert(gone_within(kept, 1));
    ck_assert(gone_within(unconfined, 1));
    close_fd(first.events);
    close_fd(second.events);
}
END_TEST

START_TEST(death_of_supervisor_ends_all)
{
    char kept[32];
    (void)snprintf(kept, sizeof(kept), "%s", unique_sleep());
    struct running first = begin_sleep(RUN_ISOLATION_SANDBOX, kept);
    const char *unconfined = unique_sleep();
    struct running second = begin_sleep(RUN_ISOLATION_NONE, unconfined);
    (void)kill(backend.pid, SIGKILL);
    ck_assert(gone_within(kept, 1));
    ck_assert(gone_within(unconfined, 1));
    close_fd(first.events);
    close_fd(second.events);
}
END_TEST

/* The host is a process of its own, killed; what keeps the socket open is this test. */
START_TEST(death_of_host_ends_all)
{
    char kept[32];
    (void)snprintf(kept, sizeof(kept), "%s", unique_sleep());
    int pair[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    pid_t host = fork();
    if (host == 0) {
        backend = backend_start();
        (void)begin_sleep(RUN_ISOLATION_SANDBOX, kept);
        (void)channel_send(pair[1], &backend.pid, sizeof(backend.pid), &backend.control, 1);
        (void)pause();
    }
    pid_t supervisor;
    int control;
    size_t count;
    ck_assert_int_eq(channel_receive(pair[0], &supervisor, sizeof(supervisor), &control, 1, &count),
                     (int)sizeof(supervisor));
    ck_assert_int_eq(count_processes(kept) > 0, 1);
    (void)kill(host, SIGKILL);
    (void)waitpid(host, NULL, 0);
    ck_assert(gone_within(kept, 1));
    for (int i = 0; i < 1000 && process_is_alive(supervisor); i++)
        (void)usleep(1000);
    ck_assert(!process_is_alive(supervisor));
    close_fd(control);
}
END_TEST

static int count_supervisor_descriptors(void)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)backend.pid);
    DIR *directory = opendir(path);
    int count = 0;
    while (directory && readdir(directory))
        count++;
    if (directory)
        (void)closedir(directory);
    return count;
}

/* It closes those of a run after its last word: the count when it has been the same for a while. */
static int settled_supervisor_descriptors(void)
{
    int count = count_supervisor_descriptors();
    int same = 0;
    for (int i = 0; i < 400 && same < 8; i++) {
        (void)usleep(25000);
        int next = count_supervisor_descriptors();
        same = next == count ? same + 1 : 0;
        count = next;
    }
    return count;
}

/* Directories named after this supervisor below a hierarchy's mount, any depth up to four. */
static int count_cgroups(pid_t supervisor)
{
    char command[256];
    (void)snprintf(command, sizeof(command),
                   "find /sys/fs/cgroup -maxdepth 6 -name 'code-execute-%d' 2>/dev/null | wc -l",
                   (int)supervisor);
    FILE *found = popen(command, "re"); /* NOLINT(cert-env33-c): a fixed command of the test */
    int count = -1;
    if (!found || fscanf(found, "%d", &count) != 1)
        count = -1;
    if (found)
        (void)pclose(found);
    return count;
}

START_TEST(nothing_is_left)
{
    struct run_description description =
        describe(WORDS("sh", "-c", "mkdir -p a/b; echo x > a/b/c; ln -s / a/root; chmod 0 a/b"));
    int descriptors = 0;
    char prefix[64];
    (void)snprintf(prefix, sizeof(prefix), "code-execute-%d-", (int)backend.pid);
    for (int i = 0; i < 20; i++) {
        description.isolation = i % 2 ? RUN_ISOLATION_SANDBOX : RUN_ISOLATION_NONE;
        if (i == 4)
            descriptors = settled_supervisor_descriptors();
        expect_output(&description, "");
    }
    ck_assert_int_eq(settled_supervisor_descriptors(), descriptors);
    ck_assert_int_eq(count_entries("/tmp", prefix), 0);
    pid_t supervisor = backend.pid;
    backend_stop(&backend);
    ck_assert_int_eq(count_cgroups(supervisor), 0);
}
END_TEST

/* The first child of a process. */
static pid_t child_of(pid_t pid)
{
    char path[64];
    int child = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%d", &child) != 1)
        child = 0;
    if (file)
        (void)fclose(file);
    return child;
}

/* Does any writable mapping of the process hold the text? */
static bool memory_has(pid_t pid, const char *text)
{
    char path[64];
    char line[512];
    (void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(path, "re");
    (void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
    CLEANUP_CLOSE int memory = open(path, O_RDONLY | O_CLOEXEC);
    ck_assert(maps && memory >= 0);
    bool found = false;
    while (!found && fgets(line, sizeof(line), maps)) {
        unsigned long begin;
        unsigned long end;
        char mode[8];
        if (sscanf(line, "%lx-%lx %7s", &begin, &end, mode) != 3 || mode[1] != 'w')
            continue;
        CLEANUP_FREE char *bytes = malloc(end - begin);
        ssize_t length = pread(memory, bytes, end - begin, (off_t)begin);
        found = length > 0 && memmem(bytes, (size_t)length, text, strlen(text));
    }
    (void)fclose(maps);
    return found;
}

/* They may still be busy with the start that was told. */
static void expect_wiped(pid_t pid, const char *text)
{
    for (int i = 0; i < 400 && memory_has(pid, text); i++)
        (void)usleep(5000);
    ck_assert(!memory_has(pid, text));
}

/* Only the program itself keeps what its environment held. */
START_TEST(environment_is_wiped)
{
    char variable[64];
    (void)snprintf(variable, sizeof(variable), "SECRET=%s", unique_sleep());
    for (uint32_t isolation = RUN_ISOLATION_NONE; isolation <= RUN_ISOLATION_SANDBOX; isolation++) {
        struct run_description description = describe(WORDS("sleep", "20"));
        description.isolation = isolation;
        description.environment = WORDS("PATH=/usr/bin:/bin", variable);
        struct running running = run_begin(&backend, &description);
        run_await_start(&running);
        pid_t first = child_of(backend.pid);
        pid_t program = child_of(first);
        ck_assert_int_gt(program, 0);
        ck_assert(memory_has(program, variable));
        expect_wiped(first, variable + strlen("SECRET="));
        expect_wiped(backend.pid, variable + strlen("SECRET="));
        close_fd(running.output);
        close_fd(running.errors);
        close_fd(running.events);
        for (int i = 0; i < 1000 && child_of(backend.pid) == first; i++)
            (void)usleep(5000);
    }
}
END_TEST

START_TEST(dead_supervisors_cgroups_are_swept)
{
    const char *sleep = unique_sleep();
    struct running running = begin_sleep(RUN_ISOLATION_SANDBOX, sleep);
    pid_t dead = backend.pid;
    ck_assert_int_gt(count_cgroups(dead), 0);
    (void)kill(dead, SIGKILL);
    backend_stop(&backend);
    ck_assert(gone_within(sleep, 20));
    close_fd(running.events);
    backend = backend_start();
    /* A group is busy for a moment after its last process has gone: the backend tries again. */
    double end = now_seconds() + 10 * slowness();
    while (count_cgroups(dead) > 0 && now_seconds() < end)
        (void)usleep(5000);
    ck_assert_int_eq(count_cgroups(dead), 0);
}
END_TEST

/* What a sanitized backend has freed is kept by the sanitizer, wiped or not. */
static const char *lacks_plain_memory(void)
{
    return UNDER_ADDRESS_SANITIZER ? "AddressSanitizer keeps what was freed" : lacks_root();
}

int main(void)
{
    suite_begin("lifetime");
    suite_add(orders_end_a_run, NULL);
    suite_add(closed_socket_ends_a_run, NULL);
    suite_add(daemon_does_not_delay, NULL);
    suite_add(stopped_tree_still_dies, NULL);
    suite_add(killed_subreaper_leaves_nothing, NULL);
    suite_add(stopped_subreaper_does_not_hold_up, NULL);
    suite_add(zombies_are_reaped, lacks_program("python3"));
    suite_add(end_of_control_ends_all, NULL);
    suite_add(death_of_supervisor_ends_all, NULL);
    suite_add(death_of_host_ends_all, NULL);
    suite_add(nothing_is_left, NULL);
    suite_add(dead_supervisors_cgroups_are_swept, lacks_cgroup());
    suite_add(environment_is_wiped, lacks_plain_memory());
    return suite_end();
}
