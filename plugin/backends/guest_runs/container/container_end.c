/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the reading of an end: see container_end.h. Runs in a backend of containers. */
#include "backends/guest_runs/container/container_end.h"

#include <signal.h>
#include <sys/wait.h>

#define STATUS_KILLED (128 + SIGKILL) /* as engines report a first process that was killed */

bool container_end_is_good(const struct container_end *end)
{
    return end->reported && end->program.wait_status == 0;
}

bool container_end_is_explained(const struct container_end *end)
{
    return end->reported || end->memory_killed || end->status == STATUS_KILLED;
}

static enum run_cause cause_of(const struct container_end *end, int signal)
{
    if (end->memory_killed && !container_end_is_good(end))
        return RUN_CAUSE_MEMORY_LIMIT;
    switch (signal) {
    case 0:
        return RUN_CAUSE_EXIT;
    case SIGXCPU:
        return RUN_CAUSE_CPU_LIMIT;
    case SIGXFSZ:
        return RUN_CAUSE_FILE_LIMIT;
    case SIGSYS:
        return RUN_CAUSE_FORBIDDEN_SYSCALL;
    default:
        return RUN_CAUSE_SIGNAL;
    }
}

void container_cause_decide(const struct container_end *end, struct run_event *event)
{
    int status = end->reported ? (int)end->program.wait_status : SIGKILL;
    event->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    event->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    event->cause = cause_of(end, event->signal);
    if (end->reported) {
        event->usage.user_us = end->program.user_us;
        event->usage.system_us = end->program.system_us;
        event->usage.peak_memory_bytes = end->program.peak_memory_bytes;
    }
}
