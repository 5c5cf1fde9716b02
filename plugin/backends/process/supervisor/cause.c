/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the verdict on how a run ended: see cause.h. Runs in the supervisor. */
#include "backends/process/supervisor/cause.h"

#include <signal.h>
#include <sys/wait.h>

/* The kernel sends SIGXCPU at the soft limit and SIGKILL at the hard one, a second later
 * (setrlimit(2)). The soft limit is whole seconds, so the time used is what tells. */
static bool used_up_cpu(const struct run_evidence *evidence, int signal)
{
    if (evidence->cpu_limit_ms == 0)
        return false;
    uint64_t whole_seconds_us = (evidence->cpu_limit_ms + 999) / 1000 * 1000000;
    return signal == SIGXCPU || (signal == SIGKILL && evidence->cpu_us >= whole_seconds_us);
}

static enum run_cause cause_of_signal(const struct run_evidence *evidence, int signal)
{
    if (signal == SIGKILL && evidence->memory_kills)
        return RUN_CAUSE_MEMORY_LIMIT;
    if (used_up_cpu(evidence, signal))
        return RUN_CAUSE_CPU_LIMIT;
    if (signal == SIGXFSZ)
        return RUN_CAUSE_FILE_LIMIT;
    if (signal == SIGSYS)
        return RUN_CAUSE_FORBIDDEN_SYSCALL;
    return RUN_CAUSE_SIGNAL;
}

/* Without a cgroup an allocation fails before the kernel kills (RLIMIT_DATA): a program that ends
 * badly and has had most of it by then has met the limit. */
static bool met_process_memory(const struct run_evidence *evidence)
{
    return evidence->process_memory_limit != 0 &&
           evidence->process_memory_bytes >= evidence->process_memory_limit / 4 * 3;
}

static enum run_cause cause_of_end(const struct run_evidence *evidence, int exit_code, int signal)
{
    enum run_cause cause = signal ? cause_of_signal(evidence, signal) : RUN_CAUSE_EXIT;
    bool unexplained = cause == RUN_CAUSE_SIGNAL || (cause == RUN_CAUSE_EXIT && exit_code != 0);
    if (unexplained && evidence->memory_kills)
        return RUN_CAUSE_MEMORY_LIMIT;
    if (unexplained && evidence->process_refusals)
        return RUN_CAUSE_PROCESS_LIMIT;
    if (unexplained && evidence->scratch_full)
        return RUN_CAUSE_DISK_FULL;
    if (unexplained && met_process_memory(evidence))
        return RUN_CAUSE_MEMORY_LIMIT;
    return cause;
}

void cause_decide(const struct run_evidence *evidence, struct run_event *event)
{
    event->exit_code = -1;
    event->signal = 0;
    if (evidence->program_ended) {
        if (WIFEXITED(evidence->wait_status))
            event->exit_code = WEXITSTATUS(evidence->wait_status);
        else if (WIFSIGNALED(evidence->wait_status))
            event->signal = WTERMSIG(evidence->wait_status);
        event->cause = cause_of_end(evidence, event->exit_code, event->signal);
        return;
    }
    /* The whole tree was killed, by us or by the kernel, before the program had ended by itself. */
    event->signal = SIGKILL;
    if (evidence->killed)
        event->cause = evidence->kill_cause;
    else
        event->cause = evidence->memory_kills ? RUN_CAUSE_MEMORY_LIMIT : RUN_CAUSE_SIGNAL;
}
