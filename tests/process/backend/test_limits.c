/* SPDX-License-Identifier: Apache-2.0 */
/* Every limit ends a run with its own cause, and holds. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "suite.h"

START_TEST(wall_time)
{
    for (uint32_t isolation = RUN_ISOLATION_NONE; isolation <= RUN_ISOLATION_SANDBOX; isolation++) {
        struct run_description description =
            describe(WORDS("sh", "-c", "echo before; trap '' TERM INT; sleep 30; echo after"));
        description.isolation = isolation;
        description.limits.wall_ms = 300;
        run(&backend, &description, &outcome);
        expect_cause(&outcome, RUN_CAUSE_WALL_TIMEOUT);
        ck_assert_str_eq(outcome.output, "before\n");
        ck_assert(outcome.seconds > 0.29 && outcome.seconds < 1.0 * slowness());
    }
}
END_TEST

START_TEST(processor_time)
{
    struct run_description description = describe(WORDS("sh", "-c", "while :; do :; done"));
    description.limits.cpu_ms = 1000 * slowness();
    run(&backend, &description, &outcome);
    expect_cause(&outcome, RUN_CAUSE_CPU_LIMIT);
    ck_assert_uint_ge(outcome.end.usage.user_us + outcome.end.usage.system_us, 500000);
    description.argv =
        WORDS("python3", "-c",
              "import signal\nsignal.signal(signal.SIGXCPU,signal.SIG_IGN)\nwhile 1: pass");
    run(&backend, &description, &outcome);
    expect_cause(&outcome, RUN_CAUSE_CPU_LIMIT);
    ck_assert_int_eq(outcome.end.signal, SIGKILL);
}
END_TEST

static struct run_description take_megabytes(void)
{
    static const char *const words[] = {
        "python3", "-c", "b=[]\nwhile len(b)<500: b.append(bytearray(1<<20))\nprint(len(b))", NULL};
    struct run_description description = describe((char **)(uintptr_t)words);
    description.limits.memory_bytes = UINT64_C(1) << 30;
    return description;
}

START_TEST(memory_of_the_tree)
{
    struct run_description description = take_megabytes();
    expect_output(&description, "500\n");
    description.limits.memory_bytes = UINT64_C(64) << 20;
    run(&backend, &description, &outcome);
    ck_assert_str_eq(outcome.output, "");
    expect_cause(&outcome, RUN_CAUSE_MEMORY_LIMIT);
    ck_assert_uint_ge(outcome.end.usage.memory_kills, 1);
}
END_TEST

START_TEST(memory_of_a_process)
{
    struct run_description description = take_megabytes();
    expect_output(&description, "500\n");
    description.limits.memory_bytes = UINT64_C(64) << 20;
    run(&backend, &description, &outcome);
    ck_assert_str_eq(outcome.output, "");
    expect_cause(&outcome, RUN_CAUSE_MEMORY_LIMIT);
    ck_assert_int_eq(outcome.end.exit_code, 1);
    ck_assert_ptr_nonnull(strstr(outcome.errors, "MemoryError"));
}
END_TEST

START_TEST(memory_through_scratch)
{
    struct run_description description =
        describe(WORDS("sh", "-c", "head -c 100000000 /dev/zero > /tmp/x && echo wrote"));
    description.limits.memory_bytes = UINT64_C(32) << 20;
    description.limits.scratch_bytes = UINT64_C(512) << 20;
    description.limits.file_bytes = 0;
    run(&backend, &description, &outcome);
    expect_cause(&outcome, RUN_CAUSE_MEMORY_LIMIT);
    ck_assert_str_eq(outcome.output, "");
}
END_TEST

static void have_memory(uint64_t bytes)
{
    struct run_description description = describe(WORDS("echo", "ran"));
    description.limits.memory_bytes = bytes;
    run(&backend, &description, &outcome);
}

/* A limit too small even for the set-up, which is charged as well, ends the run, not the backend.
 */
START_TEST(absurdly_little_memory_for_the_tree)
{
    have_memory(65536);
    expect_cause(&outcome, RUN_CAUSE_MEMORY_LIMIT);
    ck_assert_uint_ge(outcome.end.usage.memory_kills, 1);
    ck_assert_uint_eq(outcome.end.failure, RUN_FAILURE_NONE);
    ck_assert_int_eq(outcome.end.exit_code, -1);
    ck_assert(!outcome.started);
    ck_assert_str_eq(outcome.output, "");
    have_memory(UINT64_C(64) << 20);
    ck_assert_str_eq(outcome.output, "ran\n");
}
END_TEST

/* The program's loader finds no room: it ends with 127 (ld.so(8)). */
START_TEST(absurdly_little_memory_for_a_process)
{
    have_memory(65536);
    expect_cause(&outcome, RUN_CAUSE_MEMORY_LIMIT);
    ck_assert_int_eq(outcome.end.exit_code, 127);
    ck_assert(outcome.started);
    ck_assert_str_eq(outcome.output, "");
    have_memory(UINT64_C(64) << 20);
    ck_assert_str_eq(outcome.output, "ran\n");
}
END_TEST

/* Up to the 200 children that the program wants. */
static void fork_children(uint64_t limit)
{
    static const char code[] = "import os,time\nn=0\ntry:\n while n<200:\n  if os.fork()==0:\n"
                               "   time.sleep(20);os._exit(0)\n  n+=1\nexcept OSError: "
                               "print('refused',n<=20);raise\nprint('all')";
    struct run_description description = describe(WORDS("python3", "-c", code));
    description.limits.processes = limit;
    run(&backend, &description, &outcome);
}

START_TEST(processes_of_the_tree)
{
    fork_children(20);
    ck_assert_str_eq(outcome.output, "refused True\n");
    expect_cause(&outcome, RUN_CAUSE_PROCESS_LIMIT);
    ck_assert_uint_ge(outcome.end.usage.process_refusals, 1);
    ck_assert(outcome.seconds < 5 * slowness());
    fork_children(250);
    ck_assert_str_eq(outcome.output, "all\n");
}
END_TEST

START_TEST(processes_of_the_user)
{
    fork_children(20);
    ck_assert_str_eq(outcome.output, "refused True\n");
    expect_cause(&outcome, RUN_CAUSE_EXIT);
    ck_assert_int_eq(outcome.end.exit_code, 1);
    ck_assert(outcome.seconds < 5 * slowness());
    fork_children(250);
    ck_assert_str_eq(outcome.output, "all\n");
}
END_TEST

/* Every process forks for as long as it lives; the first refusal is told. What the machine has of
 * them is counted from outside. */
START_TEST(fork_bomb)
{
    static const char code[] = "import os\ntold=False\nwhile 1:\n try: os.fork()\n"
                               " except OSError:\n  if not told: os.write(1,b'refused ')\n"
                               "  told=True";
    char mark[64];
    (void)snprintf(mark, sizeof(mark), "bomb-%d", (int)getpid());
    struct run_description description = describe(WORDS("python3", "-c", code, mark));
    description.limits.processes = 40;
    description.limits.wall_ms = 3000 * slowness();
    struct running running = run_begin(&backend, &description);
    run_await_start(&running);
    int most = 0;
    for (double end = now_seconds() + 2.5 * slowness(); now_seconds() < end; (void)usleep(100000)) {
        int alive = count_processes(mark);
        most = alive > most ? alive : most;
    }
    run_finish(&running, &outcome);
    expect_cause(&outcome, RUN_CAUSE_WALL_TIMEOUT);
    ck_assert_msg(most > 1 && most <= 40, "%d processes", most);
    ck_assert_ptr_nonnull(strstr(outcome.output, "refused"));
    ck_assert(outcome.seconds < 2 * slowness());
    ck_assert_int_eq(count_processes(mark), 0);
    if (outcome.end.isolation.cgroup_has_pids)
        ck_assert_uint_ge(outcome.end.usage.process_refusals, 1);
}
END_TEST

START_TEST(file_size)
{
    struct run_description description =
        describe(WORDS("python3", "-c",
                       "import signal\nsignal.signal(signal.SIGXFSZ,signal.SIG_DFL)\n"
                       "open('x','wb').write(b'x'*(3<<20))\nprint('wrote')"));
    description.limits.file_bytes = UINT64_C(1) << 20;
    run(&backend, &description, &outcome);
    expect_cause(&outcome, RUN_CAUSE_FILE_LIMIT);
    ck_assert_int_eq(outcome.end.signal, SIGXFSZ);
    description.limits.file_bytes = UINT64_C(8) << 20;
    expect_output(&description, "wrote\n");
}
END_TEST

/* One cap for all writable places together. */
START_TEST(scratch_size)
{
    struct run_description description =
        describe(WORDS("sh", "-c",
                       "for d in /tmp /home/sandbox /dev/shm; do "
                       "head -c 4000000 /dev/zero > $d/x 2>/dev/null || echo full $d; done"));
    description.limits.scratch_bytes = UINT64_C(10) << 20;
    expect_output(&description, "full /dev/shm\n");
}
END_TEST

START_TEST(scratch_inodes)
{
    struct run_description description =
        describe(WORDS("python3", "-c",
                       "n=0\ntry:\n for n in range(1000): open('/tmp/%d'%n,'w')\n"
                       "except OSError as x: print(x.errno==28,n<100)"));
    description.limits.scratch_inodes = 100;
    expect_output(&description, "True True\n");
}
END_TEST

START_TEST(open_files)
{
    struct run_description description =
        describe(WORDS("python3", "-c",
                       "f=[]\ntry:\n while 1: f.append(open('/dev/null'))\n"
                       "except OSError as x: print(x.errno==24,len(f)<32)"));
    description.limits.open_files = 32;
    expect_output(&description, "True True\n");
}
END_TEST

START_TEST(node_starts_in_little_memory)
{
    struct run_description description = describe(WORDS("node", "-e", "console.log(1)"));
    description.limits.memory_bytes = UINT64_C(256) << 20;
    expect_output(&description, "1\n");
}
END_TEST

int main(void)
{
    suite_begin("limits");
    suite_add(wall_time, NULL);
    suite_add(processor_time, lacks_program("python3"));
    suite_add(memory_of_the_tree, lacks_cgroup());
    suite_add(memory_of_a_process, has_cgroup());
    suite_add(memory_through_scratch, lacks_cgroup());
    suite_add(absurdly_little_memory_for_the_tree, lacks_cgroup());
    suite_add(absurdly_little_memory_for_a_process, has_cgroup());
    suite_add(processes_of_the_tree, lacks_cgroup());
    suite_add(processes_of_the_user, has_cgroup());
    suite_add(fork_bomb, lacks_program("python3"));
    suite_add(file_size, lacks_program("python3"));
    suite_add(scratch_size, NULL);
    suite_add(scratch_inodes, lacks_program("python3"));
    suite_add(open_files, lacks_program("python3"));
    suite_add(node_starts_in_little_memory, lacks_program("node"));
    return suite_end();
}
