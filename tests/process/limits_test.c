/* SPDX-License-Identifier: Apache-2.0 */
/* Every limit ends a run with its own cause, and holds. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "suite.h"

static bool has_cgroup(void)
{
    struct run_description description = describe(WORDS("true"));
    run(&backend, &description, &outcome);
    return outcome.end.isolation.applied & LAYER_BIT(LAYER_CGROUP);
}

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
        ck_assert(outcome.seconds > 0.29 && outcome.seconds < 1.0);
    }
}
END_TEST

START_TEST(processor_time)
{
    struct run_description description = describe(WORDS("sh", "-c", "while :; do :; done"));
    description.limits.cpu_ms = 1000;
    run(&backend, &description, &outcome);
    expect_cause(&outcome, RUN_CAUSE_CPU_LIMIT);
    ck_assert_uint_ge(outcome.end.usage.user_us + outcome.end.usage.system_us, 900000);
    description.argv =
        WORDS("python3", "-c",
              "import signal\nsignal.signal(signal.SIGXCPU,signal.SIG_IGN)\nwhile 1: pass");
    run(&backend, &description, &outcome);
    expect_cause(&outcome, RUN_CAUSE_CPU_LIMIT);
    ck_assert_int_eq(outcome.end.signal, SIGKILL);
}
END_TEST

START_TEST(memory)
{
    struct run_description description = describe(WORDS(
        "python3", "-c", "b=[]\nwhile len(b)<500: b.append(bytearray(1<<20))\nprint(len(b))"));
    description.limits.memory_bytes = UINT64_C(64) << 20;
    bool counted = has_cgroup();
    run(&backend, &description, &outcome);
    ck_assert_str_eq(outcome.output, "");
    if (counted) {
        expect_cause(&outcome, RUN_CAUSE_MEMORY_LIMIT);
        ck_assert_uint_ge(outcome.end.usage.memory_kills, 1);
    } else {
        ck_assert_ptr_nonnull(strstr(outcome.errors, "MemoryError"));
    }
    description.limits.memory_bytes = UINT64_C(1) << 30;
    expect_output(&description, "500\n");
}
END_TEST

START_TEST(memory_through_scratch)
{
    if (!has_cgroup())
        return;
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

START_TEST(processes)
{
    static const char code[] = "import os,time\nn=0\ntry:\n while n<200:\n  if os.fork()==0:\n"
                               "   time.sleep(20);os._exit(0)\n  n+=1\nexcept OSError: "
                               "print('refused',n<=20);raise\nprint('all')";
    struct run_description description = describe(WORDS("python3", "-c", code));
    description.limits.processes = 20;
    bool counted = has_cgroup();
    run(&backend, &description, &outcome);
    ck_assert_str_eq(outcome.output, "refused True\n");
    if (counted) {
        expect_cause(&outcome, RUN_CAUSE_PROCESS_LIMIT);
        ck_assert_uint_ge(outcome.end.usage.process_refusals, 1);
    }
    ck_assert(outcome.seconds < 5);
    description.limits.processes = 250;
    expect_output(&description, "all\n");
}
END_TEST

START_TEST(fork_bomb)
{
    struct run_description description = describe(WORDS("bash", "-c", ":(){ :|:& };:; sleep 10"));
    description.limits.processes = 40;
    description.limits.wall_ms = 700;
    run(&backend, &description, &outcome);
    ck_assert(outcome.end.cause == RUN_CAUSE_WALL_TIMEOUT ||
              outcome.end.cause == RUN_CAUSE_PROCESS_LIMIT || outcome.end.cause == RUN_CAUSE_EXIT);
    ck_assert(outcome.seconds < 2.5);
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
    if (access("/usr/bin/node", X_OK) < 0)
        return;
    struct run_description description = describe(WORDS("node", "-e", "console.log(1)"));
    description.limits.memory_bytes = UINT64_C(256) << 20;
    expect_output(&description, "1\n");
}
END_TEST

/* A limit too small even for the set-up ends the run, not the backend. */
START_TEST(absurdly_little_memory)
{
    struct run_description description = describe(WORDS("python3", "-c", "print(1)"));
    description.limits.memory_bytes = 65536;
    run(&backend, &description, &outcome);
    ck_assert_str_eq(outcome.output, "");
    description = describe(WORDS("echo", "alive"));
    expect_output(&description, "alive\n");
}
END_TEST

int main(void)
{
    const TTest *tests[] = {
        wall_time,
        processor_time,
        memory,
        memory_through_scratch,
        processes,
        fork_bomb,
        file_size,
        scratch_size,
        scratch_inodes,
        open_files,
        node_starts_in_little_memory,
        absurdly_little_memory,
        NULL,
    };
    return suite_main("limits", tests);
}
