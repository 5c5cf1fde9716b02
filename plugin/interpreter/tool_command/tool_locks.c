/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the locks and the marks: see tool_locks.h. */
#include "interpreter/tool_command/tool_locks.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "protocol/run_description.h"

static bool change(int fd, short type, int64_t lock, int command)
{
    struct flock record = {
        .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)lock, .l_len = 1};
    int result;
    do
        result = fcntl(fd, command, &record);
    while (result < 0 && errno == EINTR);
    return result == 0;
}

bool tool_lock_try(int64_t lock)
{
    return change(RUN_RESULTS_FD, F_WRLCK, lock, F_SETLK);
}

bool tool_lock_take(int64_t lock)
{
    return change(RUN_RESULTS_FD, F_WRLCK, lock, F_SETLKW);
}

void tool_lock_give_back(int64_t lock)
{
    (void)change(RUN_RESULTS_FD, F_UNLCK, lock, F_SETLK);
}

bool tool_lock_is_held(int64_t lock)
{
    struct flock record = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)lock, .l_len = 1};
    return fcntl(RUN_RESULTS_FD, F_GETLK, &record) == 0 && record.l_type != F_UNLCK;
}

bool tool_slot_enter(int fd)
{
    for (int slot = 0; slot < TOOL_CELL_SLOTS; slot++)
        if (change(fd, F_WRLCK, TOOL_LOCK_SLOTS + slot, F_SETLK))
            return true;
    return change(fd, F_WRLCK, TOOL_LOCK_SLOTS + getpid() % TOOL_CELL_SLOTS, F_SETLKW);
}

void tool_slot_leave(int fd)
{
    for (int slot = 0; slot < TOOL_CELL_SLOTS; slot++)
        (void)change(fd, F_UNLCK, TOOL_LOCK_SLOTS + slot, F_SETLK);
}

/* O_APPEND means nothing to a pipe or a socket. */
static const int appends[TOOL_MARK_COUNT] = {
    [TOOL_MARK_CALL] = RUN_RESULTS_FD, [TOOL_MARK_ANSWER] = RUN_TOOLS_FD};

bool tool_mark_is_set(enum tool_mark mark)
{
    int value = fcntl(appends[mark], F_GETFL);
    return value >= 0 && (value & O_APPEND) != 0;
}

void tool_mark_set(enum tool_mark mark, bool is_set)
{
    int flags = fcntl(appends[mark], F_GETFL);
    (void)fcntl(appends[mark], F_SETFL, is_set ? flags | O_APPEND : flags & ~O_APPEND);
}

/* In the time limit of sending, in seconds: the socket is shut down for that. */
uint32_t tool_slots(void)
{
    struct timeval limit = {.tv_sec = 0};
    socklen_t length = sizeof(limit);
    if (getsockopt(RUN_TOOLS_FD, SOL_SOCKET, SO_SNDTIMEO, &limit, &length) < 0 ||
        limit.tv_sec < 0 || limit.tv_sec > TOOL_SLOTS_MOST)
        return 0;
    return (uint32_t)limit.tv_sec;
}

void tool_slots_set(uint32_t slots)
{
    const struct timeval limit = {.tv_sec = slots < TOOL_SLOTS_MOST ? slots : TOOL_SLOTS_MOST};
    (void)setsockopt(RUN_TOOLS_FD, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}
