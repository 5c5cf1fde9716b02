/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the locks and the marks: see tool_locks.h. */
#include "interpreter/tool_command/tool_locks.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "protocol/run_description.h"

static bool change(short type, int64_t lock, int command)
{
    struct flock record = {
        .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)lock, .l_len = 1};
    int result;
    do
        result = fcntl(RUN_RESULTS_FD, command, &record);
    while (result < 0 && errno == EINTR);
    return result == 0;
}

bool tool_lock_try(int64_t lock)
{
    return change(F_WRLCK, lock, F_SETLK);
}

bool tool_lock_take(int64_t lock)
{
    return change(F_WRLCK, lock, F_SETLKW);
}

void tool_lock_give_back(int64_t lock)
{
    (void)change(F_UNLCK, lock, F_SETLK);
}

bool tool_lock_is_held(int64_t lock)
{
    struct flock record = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)lock, .l_len = 1};
    return fcntl(RUN_RESULTS_FD, F_GETLK, &record) == 0 && record.l_type != F_UNLCK;
}

/* O_APPEND means nothing to a pipe or a socket, and SO_KEEPALIVE nothing to one without a network.
 */
static const int appends[TOOL_MARK_COUNT] = {
    [TOOL_MARK_CALL] = RUN_RESULTS_FD, [TOOL_MARK_ANSWER] = RUN_TOOLS_FD};

bool tool_mark_is_set(enum tool_mark mark)
{
    int value = 0;
    socklen_t length = sizeof(value);
    if (mark == TOOL_MARK_LISTING)
        return getsockopt(RUN_TOOLS_FD, SOL_SOCKET, SO_KEEPALIVE, &value, &length) == 0 &&
               value != 0;
    value = fcntl(appends[mark], F_GETFL);
    return value >= 0 && (value & O_APPEND) != 0;
}

void tool_mark_set(enum tool_mark mark, bool is_set)
{
    const int value = is_set;
    if (mark == TOOL_MARK_LISTING) {
        (void)setsockopt(RUN_TOOLS_FD, SOL_SOCKET, SO_KEEPALIVE, &value, sizeof(value));
        return;
    }
    int flags = fcntl(appends[mark], F_GETFL);
    (void)fcntl(appends[mark], F_SETFL, is_set ? flags | O_APPEND : flags & ~O_APPEND);
}
