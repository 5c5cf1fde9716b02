/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the attempts: see attribute_attempts.h. Each runs in a child of a test. */
#include "attribute_attempts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>
#include <utime.h>

#include "base/cleanup.h"
#include "filtered_child.h"

#define FCHMODAT2 452

const char *target;

int no_error(long result)
{
    return result < 0 ? errno : 0;
}

static int open_target(void)
{
    return open(target, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

static int by_fchmod(void)
{
    CLEANUP_CLOSE int fd = open_target();
    return no_error(syscall(SYS_fchmod, fd, 0700));
}

static int by_fchmodat(void)
{
    return no_error(syscall(SYS_fchmodat, AT_FDCWD, target, 0700));
}

static int by_fchmodat_of_a_directory(void)
{
    CLEANUP_CLOSE int directory = open("directory", O_PATH | O_DIRECTORY | O_CLOEXEC);
    char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s%s", target[0] == '/' ? "" : "../", target);
    return no_error(syscall(SYS_fchmodat, directory, path, 0700));
}

static int by_fchmodat2(void)
{
    return no_error(syscall(FCHMODAT2, AT_FDCWD, target, 0700, 0));
}

static int by_fchmodat2_of_descriptor(void)
{
    CLEANUP_CLOSE int fd = open(target, O_PATH | O_CLOEXEC);
    return no_error(syscall(FCHMODAT2, fd, "", 0700, AT_EMPTY_PATH));
}

static int by_name_of_descriptor(void)
{
    char path[64];
    CLEANUP_CLOSE int fd = open(target, O_PATH | O_CLOEXEC);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return no_error(syscall(SYS_fchmodat, AT_FDCWD, path, 0700));
}

static const struct timespec then[2] = {{.tv_sec = THEN}, {.tv_sec = THEN}};

static int by_utimensat(void)
{
    return no_error(syscall(SYS_utimensat, AT_FDCWD, target, then, 0));
}

static int by_utimensat_of_descriptor(void)
{
    CLEANUP_CLOSE int fd = open_target();
    return no_error(syscall(SYS_utimensat, fd, NULL, then, 0));
}

static int by_fchown(void)
{
    CLEANUP_CLOSE int fd = open_target();
    return no_error(syscall(SYS_fchown, fd, geteuid(), -1));
}

static int by_fchownat(void)
{
    return no_error(syscall(SYS_fchownat, AT_FDCWD, target, -1, getegid(), 0));
}

#ifdef SYS_chmod
static const struct timeval then_us[2] = {{.tv_sec = THEN}, {.tv_sec = THEN}};

static int by_chmod(void)
{
    return no_error(syscall(SYS_chmod, target, 0700));
}

static int by_chown(void)
{
    return no_error(syscall(SYS_chown, target, geteuid(), getegid()));
}

static int by_lchown(void)
{
    return no_error(syscall(SYS_lchown, target, -1, -1));
}

static int by_utime(void)
{
    const struct utimbuf times = {.actime = THEN, .modtime = THEN};
    return no_error(syscall(SYS_utime, target, &times));
}

static int by_utimes(void)
{
    return no_error(syscall(SYS_utimes, target, then_us));
}

static int by_futimesat(void)
{
    return no_error(syscall(SYS_futimesat, AT_FDCWD, target, then_us));
}

static int by_futimesat_of_descriptor(void)
{
    CLEANUP_CLOSE int fd = open_target();
    return no_error(syscall(SYS_futimesat, fd, NULL, then_us));
}
#endif

const attempt attribute_ways[] = {
#ifdef SYS_chmod
    by_chmod,
    by_chown,
    by_lchown,
    by_utime,
    by_utimes,
    by_futimesat,
    by_futimesat_of_descriptor,
#endif
    by_fchmod,
    by_fchmodat,
    by_fchmodat_of_a_directory,
    by_fchmodat2,
    by_fchmodat2_of_descriptor,
    by_name_of_descriptor,
    by_utimensat,
    by_utimensat_of_descriptor,
    by_fchown,
    by_fchownat,
};
const size_t attribute_way_count = COUNT_OF(attribute_ways);

bool attribute_way_is_of_link(attempt way)
{
#ifdef SYS_lchown
    return way == by_lchown;
#else
    (void)way;
    return false;
#endif
}

/* The last bytes ahead of memory that is not there. */
static char *at_end_of_memory(const char *text, size_t length)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || munmap(memory + page, page) < 0)
        _exit(ENDED_BY_SIGNAL);
    return memcpy(memory + page - length, text, length);
}

static int chmod_at(int directory, const char *path)
{
    return no_error(syscall(SYS_fchmodat, directory, path, 0700));
}

static int path_at_end(void)
{
    return chmod_at(AT_FDCWD, at_end_of_memory("file", 5));
}

static int path_without_end(void)
{
    return chmod_at(AT_FDCWD, at_end_of_memory("file", 4));
}

static int path_nowhere(void)
{
    return chmod_at(AT_FDCWD, (const char *)(uintptr_t)64);
}

static int path_of_none(void)
{
    return chmod_at(AT_FDCWD, NULL);
}

static int path_in_the_kernel(void)
{
    return chmod_at(AT_FDCWD, (const char *)(UINTPTR_MAX - 4095));
}

static int path_too_long(void)
{
    static char path[PATH_MAX + 1];
    memset(path, '/', sizeof(path) - 1);
    return chmod_at(AT_FDCWD, path);
}

static int path_empty(void)
{
    return chmod_at(AT_FDCWD, "");
}

static int path_of_no_file(void)
{
    return chmod_at(AT_FDCWD, "no-such-file");
}

static int path_through_a_file(void)
{
    return chmod_at(AT_FDCWD, "file/x");
}

static int path_of_no_directory(void)
{
    return chmod_at(99, "file");
}

static int descriptor_of_none(void)
{
    return no_error(syscall(SYS_fchmod, 99, 0700));
}

static int descriptor_below_zero(void)
{
    return no_error(syscall(SYS_fchmod, -1, 0700));
}

static int descriptor_of_no_call(void)
{
    return no_error(syscall(SYS_fchmod, AT_FDCWD, 0700));
}

static int mode_of_link(void)
{
    return no_error(syscall(FCHMODAT2, AT_FDCWD, "link-out", 0700, AT_SYMLINK_NOFOLLOW));
}

static int flags_unknown(void)
{
    return no_error(syscall(FCHMODAT2, AT_FDCWD, "file", 0700, 1));
}

static int times_nowhere(void)
{
    return no_error(syscall(SYS_utimensat, AT_FDCWD, "file", (void *)(uintptr_t)64, 0));
}

static int times_wrong(void)
{
    static const struct timespec times[2] = {{.tv_nsec = -5}, {.tv_nsec = 0}};
    return no_error(syscall(SYS_utimensat, AT_FDCWD, "file", times, 0));
}

static int times_of_nothing(void)
{
    return no_error(syscall(SYS_utimensat, AT_FDCWD, NULL, then, 0));
}

static int times_of_link(void)
{
    return no_error(syscall(SYS_utimensat, AT_FDCWD, "link-out", then, AT_SYMLINK_NOFOLLOW));
}

static int times_are_now(void)
{
    return no_error(syscall(SYS_utimensat, AT_FDCWD, "file", NULL, 0));
}

const attempt attribute_answers[] = {
    path_at_end,           path_without_end,     path_nowhere,       path_of_none,
    path_in_the_kernel,    path_too_long,        path_empty,         path_of_no_file,
    path_through_a_file,   path_of_no_directory, descriptor_of_none, descriptor_below_zero,
    descriptor_of_no_call, mode_of_link,         flags_unknown,      times_nowhere,
    times_wrong,           times_of_nothing,     times_of_link,      times_are_now,
};
const size_t attribute_answer_count = COUNT_OF(attribute_answers);
