/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the verdict on how a container ended: see container_cause.h. */
#include "backends/docker/container/container_cause.h"

#include <signal.h>

#include "base/cleanup.h"

#define SIGNAL_BASE 128

/* The ones that end programs in earnest. A program that exits with the number of another one (130
 * after an interrupt, say) has rather chosen it. */
static const int fatal_signals[] = {SIGILL,  SIGTRAP, SIGABRT, SIGBUS,  SIGFPE,  SIGKILL,
                                    SIGSEGV, SIGPIPE, SIGTERM, SIGXCPU, SIGXFSZ, SIGSYS};

static int signal_of(int64_t status)
{
    for (size_t i = 0; i < COUNT_OF(fatal_signals); i++)
        if (status == SIGNAL_BASE + fatal_signals[i])
            return fatal_signals[i];
    return 0;
}

static enum run_cause cause_of(const struct container_end *end, int signal)
{
    if (end->memory_killed && end->status != 0)
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
    event->signal = signal_of(end->status);
    event->exit_code = event->signal ? -1 : (int32_t)(end->status & 0xff);
    event->cause = cause_of(end, event->signal);
}
