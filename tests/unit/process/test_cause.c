/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict of the process backend on how a run ended. */
#include <signal.h>

#include "backends/process/supervisor/cause.h"
#include "base/cleanup.h"
#include "tap_suite.h"

#define EXITED(code)     ((code) << 8)
#define SIGNALED(number) (number)

static const struct {
    struct run_evidence seen;
    enum run_cause cause;
    int exit_code;
    int signal;
} verdicts[] = {
    {{.program_ended = true}, RUN_CAUSE_EXIT, 0, 0},
    {{.program_ended = true, .wait_status = EXITED(3)}, RUN_CAUSE_EXIT, 3, 0},
    {{.program_ended = true, .wait_status = SIGNALED(SIGSEGV)}, RUN_CAUSE_SIGNAL, -1, SIGSEGV},
    {{.program_ended = true, .wait_status = SIGNALED(SIGSYS)},
     RUN_CAUSE_FORBIDDEN_SYSCALL,
     -1,
     SIGSYS},
    {{.program_ended = true, .wait_status = SIGNALED(SIGXFSZ)}, RUN_CAUSE_FILE_LIMIT, -1, SIGXFSZ},
    {{.program_ended = true, .wait_status = SIGNALED(SIGXCPU), .cpu_limit_ms = 1000},
     RUN_CAUSE_CPU_LIMIT,
     -1,
     SIGXCPU},
    {{.program_ended = true, .wait_status = SIGNALED(SIGXCPU)}, RUN_CAUSE_SIGNAL, -1, SIGXCPU},
    {{.program_ended = true,
      .wait_status = SIGNALED(SIGKILL),
      .cpu_limit_ms = 1000,
      .cpu_us = 2000000},
     RUN_CAUSE_CPU_LIMIT,
     -1,
     SIGKILL},
    {{.program_ended = true, .wait_status = SIGNALED(SIGKILL), .cpu_limit_ms = 1000, .cpu_us = 10},
     RUN_CAUSE_SIGNAL,
     -1,
     SIGKILL},
    {{.program_ended = true, .wait_status = SIGNALED(SIGKILL), .memory_kills = 1},
     RUN_CAUSE_MEMORY_LIMIT,
     -1,
     SIGKILL},
    {{.program_ended = true, .wait_status = EXITED(1), .memory_kills = 1},
     RUN_CAUSE_MEMORY_LIMIT,
     1,
     0},
    {{.program_ended = true, .memory_kills = 1}, RUN_CAUSE_EXIT, 0, 0},
    {{.program_ended = true, .wait_status = EXITED(1), .process_refusals = 1},
     RUN_CAUSE_PROCESS_LIMIT,
     1,
     0},
    {{.program_ended = true, .process_refusals = 9}, RUN_CAUSE_EXIT, 0, 0},
    {{.program_ended = true, .wait_status = EXITED(1), .scratch_full = true},
     RUN_CAUSE_DISK_FULL,
     1,
     0},
    {{.program_ended = true, .scratch_full = true}, RUN_CAUSE_EXIT, 0, 0},
    {{.program_ended = true,
      .wait_status = EXITED(1),
      .process_memory_bytes = 900,
      .process_memory_limit = 1000},
     RUN_CAUSE_MEMORY_LIMIT,
     1,
     0},
    {{.program_ended = true,
      .wait_status = EXITED(1),
      .process_memory_bytes = 100,
      .process_memory_limit = 1000},
     RUN_CAUSE_EXIT,
     1,
     0},
    {{.program_ended = true, .process_memory_bytes = 900, .process_memory_limit = 1000},
     RUN_CAUSE_EXIT,
     0,
     0},
    {{.killed = true, .kill_cause = RUN_CAUSE_WALL_TIMEOUT, .process_refusals = 9},
     RUN_CAUSE_WALL_TIMEOUT,
     -1,
     SIGKILL},
    {{.memory_kills = 1}, RUN_CAUSE_MEMORY_LIMIT, -1, SIGKILL},
    {{.program_ended = true, .killed = true, .kill_cause = RUN_CAUSE_WALL_TIMEOUT},
     RUN_CAUSE_EXIT,
     0,
     0},
};

START_TEST(verdict)
{
    struct run_event event = {.type = RUN_EVENT_ENDED};
    cause_decide(&verdicts[_i].seen, &event);
    ck_assert_uint_eq(event.cause, verdicts[_i].cause);
    ck_assert_int_eq(event.exit_code, verdicts[_i].exit_code);
    ck_assert_int_eq(event.signal, verdicts[_i].signal);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("cause");
    tcase_add_loop_test(cases, verdict, 0, (int)COUNT_OF(verdicts));
    return run_suite("cause", &cases, 1);
}
