/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the place of a cell's answers to its calls of tools: see cell.h. Runs in the program of a
 * session. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "interpreter/cell/cell.h"
#include "protocol/run_description.h"

static struct {
    bool is_there;
    dev_t device;
    ino_t inode;
} ours;

bool cell_answers_make_room(int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (fds[i] != RUN_TOOLS_FD)
            continue;
        int moved = fcntl(fds[i], F_DUPFD_CLOEXEC, RUN_RESULTS_FD + 1);
        if (moved < 0)
            return false;
        close_fd(fds[i]);
        fds[i] = moved;
    }
    return true;
}

bool cell_answers_put(int answers)
{
    struct stat status;
    if (fstat(answers, &status) < 0 || dup3(answers, RUN_TOOLS_FD, O_CLOEXEC) < 0)
        return false;
    ours.is_there = true;
    ours.device = status.st_dev;
    ours.inode = status.st_ino;
    return true;
}

void cell_answers_close(void)
{
    struct stat status;
    bool is_still_ours = ours.is_there && fstat(RUN_TOOLS_FD, &status) == 0 &&
                         status.st_dev == ours.device && status.st_ino == ours.inode;
    ours.is_there = false;
    if (is_still_ours)
        close_fd(RUN_TOOLS_FD);
}
