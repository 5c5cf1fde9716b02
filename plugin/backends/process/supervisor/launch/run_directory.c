/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the directories of runs on the machine: see run_directory.h. Runs in the supervisor. */
#include "backends/process/supervisor/launch/run_directory.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest/files/file_walk.h"

int run_directory_make(const char *below, char ret[RUN_DIRECTORY_SIZE])
{
    int length =
        snprintf(ret, RUN_DIRECTORY_SIZE, "%s/code-execute-%d-XXXXXX", below, (int)getpid());
    errno = ENAMETOOLONG;
    if (length < RUN_DIRECTORY_SIZE && mkdtemp(ret))
        return 0;
    ret[0] = '\0';
    return -1;
}

void run_directory_remove(const char *directory)
{
    if (!directory[0] || rmdir(directory) == 0 || errno == ENOENT)
        return;
    if (syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, 0) != 0)
        return;
    (void)close_range(0, ~0U, 0);
    remove_tree(directory);
    _exit(0);
}
