/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what an init knows of the reach of its signals: see whole_tree.h. */
#include "backends/process/program/whole_tree.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "guest/files/stop_tree.h"

#define KILL_TRIES 8

static bool has_domain;
static pid_t guardian_pid;

void whole_tree_note_domain(void)
{
    has_domain = true;
}

bool whole_tree_is_alone(void)
{
    return has_domain || getpid() == 1;
}

void whole_tree_note_guardian(pid_t guardian)
{
    guardian_pid = guardian;
}

pid_t whole_tree_guardian(void)
{
    return guardian_pid;
}

/* Should this process end between both calls, the kernel wakes the guardian (unprivileged.c). */
void whole_tree_signal(int signal)
{
    if (!whole_tree_is_alone())
        return;
    if (signal == SIGSTOP)
        stop_all_but(guardian_pid);
    else
        (void)kill(-1, signal);
}

void whole_tree_kill(void)
{
    for (int i = 0; i < KILL_TRIES && whole_tree_is_alone(); i++)
        if (kill(-1, SIGKILL) == 0 || errno == ESRCH)
            return;
}
