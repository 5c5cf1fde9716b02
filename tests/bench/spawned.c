/* SPDX-License-Identifier: Apache-2.0 */
/* Commands beside which the provider is measured. Runs in the bench's gateway, on a caller's
 * thread. */
#include "attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHUNK_BYTES 65536

static void fail(struct attempt *attempt, const char *what, int error_number)
{
    (void)snprintf(attempt->reason, sizeof(attempt->reason), "%s: %s", what,
                   strerror(error_number));
}

static int start(char *const argv[], int output, pid_t *ret)
{
    static char path[] = "PATH=/usr/bin:/bin";
    static char home[] = "HOME=/";
    static char *const environment[] = {path, home, NULL};
    posix_spawn_file_actions_t actions;
    int error_number = posix_spawn_file_actions_init(&actions);
    if (error_number != 0)
        return error_number;
    error_number = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
    if (error_number == 0)
        error_number = posix_spawn_file_actions_adddup2(&actions, output, 1);
    if (error_number == 0)
        error_number = posix_spawn_file_actions_adddup2(&actions, 0, 2);
    if (error_number == 0)
        error_number = posix_spawn(ret, argv[0], &actions, NULL, argv, environment);
    (void)posix_spawn_file_actions_destroy(&actions);
    return error_number;
}

static void read_all(int fd, struct attempt *attempt)
{
    char chunk[CHUNK_BYTES];
    for (;;) {
        ssize_t count = read(fd, chunk, sizeof(chunk));
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return;
        size_t room = sizeof(attempt->output) - attempt->kept;
        size_t kept = (size_t)count < room ? (size_t)count : room;
        memcpy(attempt->output + attempt->kept, chunk, kept);
        attempt->kept += kept;
        attempt->total += (uint64_t)count;
    }
}

static int wait_for(pid_t pid)
{
    int status = -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return status;
}

static void run(char *const argv[], struct attempt *attempt)
{
    int ends[2];
    pid_t pid = -1;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        fail(attempt, "pipe", errno);
        return;
    }
    int error_number = start(argv, ends[1], &pid);
    (void)close(ends[1]);
    if (error_number == 0)
        read_all(ends[0], attempt);
    (void)close(ends[0]);
    if (error_number != 0) {
        fail(attempt, argv[0], error_number);
        return;
    }
    int status = wait_for(pid);
    attempt->good = status == 0;
    if (!attempt->good)
        (void)snprintf(attempt->reason, sizeof(attempt->reason), "%s: wait status %d", argv[0],
                       status);
}

void spawned_run(char *const argv[], struct attempt *ret)
{
    ret->good = false;
    ret->kept = 0;
    ret->total = 0;
    double begin = clock_ms();
    run(argv, ret);
    ret->ms = clock_ms() - begin;
}
