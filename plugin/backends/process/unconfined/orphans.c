/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the killing of trees of processes: see orphans.h. */
#include "backends/process/unconfined/orphans.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEPTH 64

static FILE *open_children(pid_t pid)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
    return fopen(path, "re");
}

static void signal_tree(pid_t pid, int signal, int depth)
{
    int child;
    (void)kill(pid, signal);
    FILE *file = depth > 0 ? open_children(pid) : NULL;
    while (file && fscanf(file, "%d", &child) == 1)
        signal_tree(child, signal, depth - 1);
    if (file)
        (void)fclose(file);
}

/* Signals the trees of all children that are not spared, and reaps those that have ended. */
static bool signal_children(int signal, bool (*is_spared)(pid_t pid, void *user), void *user)
{
    bool found = false;
    int child;
    FILE *file = open_children(getpid());
    while (file && fscanf(file, "%d", &child) == 1) {
        if (is_spared(child, user))
            continue;
        found = true;
        if (waitpid(child, NULL, WNOHANG | __WALL) == 0)
            signal_tree(child, signal, DEPTH);
    }
    if (file)
        (void)fclose(file);
    return found;
}

bool orphans_kill(bool (*is_spared)(pid_t pid, void *user), void *user)
{
    bool found = signal_children(SIGSTOP, is_spared, user);
    return !signal_children(SIGKILL, is_spared, user) && !found;
}
