/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the calls that change a file's attributes: see notification.h. */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>
#include <utime.h>

#include "backends/process/program/caller.h"
#include "backends/process/program/notification.h"
#include "base/cleanup.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

#define ENTRY_SIZE      64 /* of the name of an entry in /proc */
#define NONE            (-1)
#define KNOWN_FLAGS     (AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)
#define MODE_BITS       (S_IRWXU | S_IRWXG | S_IRWXO | S_ISVTX)
#define MICROSECONDS    1000000
#define NANO_IN_A_MICRO 1000

enum attribute { MODE, OWNER, TIMES };
enum time_form { TIMES_EXACT, TIMES_MICROSECONDS, TIMES_SECONDS };

/* Where a call has its arguments; NONE: it has no such. */
struct attribute_call {
    long number;
    enum attribute attribute;
    int directory; /* or the descriptor, where there is no path */
    int path;
    int value; /* the mode, the owner with the group behind it, the address of the times */
    int flags;
    bool is_of_link; /* whatever the flags */
    enum time_form form;
};

static const struct attribute_call attribute_calls[] = {
#ifdef SYS_chmod
    {SYS_chmod, MODE, NONE, 0, 1, NONE, false, 0},
    {SYS_chown, OWNER, NONE, 0, 1, NONE, false, 0},
    {SYS_lchown, OWNER, NONE, 0, 1, NONE, true, 0},
    {SYS_utime, TIMES, NONE, 0, 1, NONE, false, TIMES_SECONDS},
    {SYS_utimes, TIMES, NONE, 0, 1, NONE, false, TIMES_MICROSECONDS},
    {SYS_futimesat, TIMES, 0, 1, 2, NONE, false, TIMES_MICROSECONDS},
#endif
    {SYS_fchmod, MODE, 0, NONE, 1, NONE, false, 0},
    {SYS_fchmodat, MODE, 0, 1, 2, NONE, false, 0},
    {SYS_fchmodat2, MODE, 0, 1, 2, 3, false, 0},
    {SYS_fchown, OWNER, 0, NONE, 1, NONE, false, 0},
    {SYS_fchownat, OWNER, 0, 1, 2, 4, false, 0},
    {SYS_utimensat, TIMES, 0, 1, 2, 3, false, TIMES_EXACT},
};

/* A change as it was asked for. */
struct change {
    enum attribute attribute;
    mode_t mode;
    uid_t owner;
    gid_t group;
    struct timespec times[2];
};

static const struct attribute_call *find_call(long number)
{
    for (size_t i = 0; i < COUNT_OF(attribute_calls); i++)
        if (attribute_calls[i].number == number)
            return &attribute_calls[i];
    return NULL;
}

static bool take_microseconds(pid_t caller, uint64_t address, struct timespec ret[2])
{
    struct timeval times[2];
    if (!caller_read(caller, address, times, sizeof(times)))
        return false;
    for (size_t i = 0; i < COUNT_OF(times); i++) {
        if (times[i].tv_usec < 0 || times[i].tv_usec >= MICROSECONDS) {
            errno = EINVAL;
            return false;
        }
        ret[i] = (struct timespec){times[i].tv_sec, times[i].tv_usec * NANO_IN_A_MICRO};
    }
    return true;
}

static bool take_seconds(pid_t caller, uint64_t address, struct timespec ret[2])
{
    struct utimbuf times;
    if (!caller_read(caller, address, &times, sizeof(times)))
        return false;
    ret[0] = (struct timespec){.tv_sec = times.actime};
    ret[1] = (struct timespec){.tv_sec = times.modtime};
    return true;
}

static bool take_times(const struct attribute_call *kind, const struct seccomp_notif *call,
                       struct timespec ret[2])
{
    pid_t caller = (pid_t)call->pid;
    uint64_t address = call->data.args[kind->value];
    if (address == 0)
        ret[0] = ret[1] = (struct timespec){.tv_nsec = UTIME_NOW};
    else if (kind->form == TIMES_EXACT)
        return caller_read(caller, address, ret, 2 * sizeof(ret[0]));
    else if (kind->form == TIMES_MICROSECONDS)
        return take_microseconds(caller, address, ret);
    else
        return take_seconds(caller, address, ret);
    return true;
}

static bool take_change(const struct attribute_call *kind, const struct seccomp_notif *call,
                        struct change *ret)
{
    const __u64 *arguments = call->data.args;
    *ret = (struct change){.attribute = kind->attribute};
    if (kind->attribute == TIMES)
        return take_times(kind, call, ret->times);
    if (kind->attribute == MODE) {
        ret->mode = (mode_t)arguments[kind->value] & MODE_BITS;
        return true;
    }
    ret->owner = (uid_t)arguments[kind->value];
    ret->group = (gid_t)arguments[kind->value + 1];
    return true;
}

/* -1 with errno, as the kernel would answer. */
static int open_changed(const struct attribute_call *kind, const struct seccomp_notif *call)
{
    const __u64 *arguments = call->data.args;
    pid_t caller = (pid_t)call->pid;
    int directory = kind->directory == NONE ? AT_FDCWD : (int)arguments[kind->directory];
    int flags = kind->flags == NONE ? 0 : (int)arguments[kind->flags];
    bool has_path = kind->path != NONE;
    /* utimensat(2) and futimesat(2) of a descriptor */
    if (has_path && kind->attribute == TIMES && arguments[kind->path] == 0)
        has_path = directory == AT_FDCWD;
    if ((flags & ~KNOWN_FLAGS) != 0) {
        errno = EINVAL;
        return -1;
    }
    if (!has_path && directory == AT_FDCWD) {
        errno = EBADF;
        return -1;
    }
    if (!has_path)
        return caller_open(caller, directory);
    char path[PATH_MAX];
    if (!caller_read_path(caller, arguments[kind->path], path, sizeof(path)))
        return -1;
    if (path[0] == '\0' && (flags & AT_EMPTY_PATH))
        return caller_open(caller, directory);
    bool is_of_link = kind->is_of_link || (flags & AT_SYMLINK_NOFOLLOW);
    return caller_open_path(caller, directory, path, is_of_link ? O_NOFOLLOW : 0);
}

static void name_of(int fd, char ret[ENTRY_SIZE])
{
    (void)snprintf(ret, ENTRY_SIZE, "/proc/self/fd/%d", fd);
}

static bool read_place(int fd, char ret[PATH_MAX])
{
    char entry[ENTRY_SIZE];
    name_of(fd, entry);
    ssize_t length = readlink(entry, ret, PATH_MAX);
    if (length <= 0 || length == PATH_MAX)
        return false;
    ret[length] = '\0';
    return true;
}

static bool is_of_a_kind_to_change(const struct statx *status)
{
    return S_ISREG(status->stx_mode) || S_ISDIR(status->stx_mode) || S_ISFIFO(status->stx_mode) ||
           S_ISLNK(status->stx_mode);
}

/* By the kernel's word: the place of the open file, and its mount. The directory itself stays
 * closed to other users. A file that was removed has neither a place nor a use for attributes. */
static bool is_within(int fd, int home)
{
    char place[PATH_MAX];
    char home_place[PATH_MAX];
    struct statx status;
    struct statx home_status;
    const unsigned int wanted = STATX_TYPE | STATX_MODE | STATX_NLINK | STATX_MNT_ID;
    if (!read_place(fd, place) || !read_place(home, home_place) ||
        statx(fd, "", AT_EMPTY_PATH, wanted, &status) < 0 ||
        statx(home, "", AT_EMPTY_PATH, wanted, &home_status) < 0)
        return false;
    size_t length = strlen(home_place);
    return (status.stx_mask & home_status.stx_mask & wanted) == wanted &&
           strncmp(place, home_place, length) == 0 && place[length] == '/' &&
           status.stx_mnt_id == home_status.stx_mnt_id && status.stx_nlink > 0 &&
           is_of_a_kind_to_change(&status);
}

/* No link of /proc leads past a symbolic link that is open itself, so that none is followed. */
static int change_mode(int fd, mode_t mode)
{
    char entry[ENTRY_SIZE];
    struct stat status;
    if (fstat(fd, &status) < 0)
        return errno;
    if (S_ISLNK(status.st_mode))
        return EOPNOTSUPP;
    name_of(fd, entry);
    return chmod(entry, mode) < 0 ? errno : 0;
}

/* Only to what it is. */
static int change_owner(int fd, uid_t owner, gid_t group)
{
    if ((owner != (uid_t)-1 && owner != geteuid()) || (group != (gid_t)-1 && group != getegid()))
        return EPERM;
    return fchownat(fd, "", owner, group, AT_EMPTY_PATH) < 0 ? errno : 0;
}

static int apply(const struct change *change, int fd)
{
    switch (change->attribute) {
    case MODE:
        return change_mode(fd, change->mode);
    case OWNER:
        return change_owner(fd, change->owner, change->group);
    case TIMES:
        return utimensat(fd, "", change->times, AT_EMPTY_PATH) < 0 ? errno : 0;
    }
    return ENOSYS;
}

/* 0 or the error. */
static int make_call(int listener, const struct attribute_call *kind,
                     const struct seccomp_notif *call, int home)
{
    struct change change;
    CLEANUP_CLOSE int fd = open_changed(kind, call);
    if (fd < 0 || !take_change(kind, call, &change))
        return errno;
    /* All of it was the caller's, if it still waits. */
    if (!notification_is_valid(listener, call->id))
        return ESRCH;
    return is_within(fd, home) ? apply(&change, fd) : EPERM;
}

bool attribute_call_answer(int listener, const struct seccomp_notif *call, int home)
{
    const struct attribute_call *kind = find_call(call->data.nr);
    if (!kind)
        return false;
    int error = make_call(listener, kind, call, home);
    (void)notification_answer_error(listener, call->id, error);
    return true;
}
