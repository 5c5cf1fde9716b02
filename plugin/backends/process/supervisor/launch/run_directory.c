/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the making and the removal of a run's directory: see run_directory.h. Runs in the
 * supervisor. */
#include "backends/process/supervisor/launch/run_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/process/program/program.h"
#include "backends/process/sandbox/own_directory.h"
#include "backends/process/sandbox/sandbox_clone.h"
#include "base/cleanup.h"
#include "protocol/run_description.h"

#define TRIES 8 /* until its lock is held, another supervisor may take it for a dead one's */

size_t run_directory_places(const char *chosen, const char *ret[RUN_DIRECTORY_PLACES])
{
    ret[0] = chosen[0] ? chosen : "/tmp";
    ret[1] = "/dev/shm";
    return chosen[0] ? 1 : RUN_DIRECTORY_PLACES;
}

int run_directory_make(const char *place, struct run_directory *ret)
{
    int length =
        snprintf(ret->path, sizeof(ret->path), "%s/code-execute-%d-XXXXXX", place, (int)getpid());
    ret->lock = -1;
    errno = ENAMETOOLONG;
    if (length < RUN_DIRECTORY_SIZE && mkdtemp(ret->path))
        return 0;
    ret->path[0] = '\0';
    return -1;
}

static int make_content(struct run_directory *directory)
{
    CLEANUP_CLOSE int top = open(directory->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    CLEANUP_CLOSE int file =
        top < 0 ? -1 : openat(top, OWN_LOCK, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0 || own_directory_hold(directory->path, &directory->lock) < 0)
        return -1;
    return mkdirat(top, RUN_HOME_NAME, 0700) < 0 ? -1 : mkdirat(top, RUN_TEMPORARY_NAME, 0700);
}

int run_directory_make_own(const char *place, struct run_directory *ret)
{
    for (int attempt = 0; attempt < TRIES; attempt++) {
        if (run_directory_make(place, ret) < 0)
            return -1;
        if (make_content(ret) == 0)
            return 0;
        int error = errno;
        run_directory_clear(ret);
        errno = error;
        if (error != EWOULDBLOCK && error != ENOENT)
            return -1;
    }
    return -1;
}

void run_directory_clear(struct run_directory *directory)
{
    if (directory->path[0])
        own_directory_remove(directory->path);
    close_fd(TAKE_FD(directory->lock));
    directory->path[0] = '\0';
}

pid_t run_directory_begin_removal(struct run_directory *directory, int *ret_pidfd)
{
    bool is_left = directory->path[0] && rmdir(directory->path) < 0 && errno != ENOENT;
    pid_t pid = is_left ? clone_process(0, ret_pidfd) : 0;
    if (is_left && pid == 0) {
        const int kept[] = {directory->lock};
        (void)program_close_other_descriptors(kept, COUNT_OF(kept));
        own_directory_remove(directory->path);
        _exit(0);
    }
    directory->path[0] = '\0';
    return pid < 0 ? 0 : pid;
}
