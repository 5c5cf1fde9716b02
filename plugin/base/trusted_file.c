/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks a path by itself, one name at a time, so that it opens the file that it has checked. Runs
 * in the gateway on the calling thread.
 */
#include "base/trusted_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

struct walk {
    const char *kind;
    const char *path; /* as it was given, for messages */
    enum error_code code;
    struct error *error;
    int directory; /* where the walk is */
    size_t links;
    char rest[PATH_MAX]; /* the rest of the walk; longer paths are refused, as by the kernel */
};

static void walk_end(struct walk *walk)
{
    if (walk->directory >= 0)
        (void)close(walk->directory);
}

static int fail_walk(const struct walk *walk, int error_number, const char *what)
{
    return error_set_errno(walk->error, walk->code, error_number, "%s %.200s: %s", walk->kind,
                           walk->path, what);
}

/* name: the part of the path that the error is about. */
static int distrust(const struct walk *walk, const char *name, const char *what, const char *remedy)
{
    (void)error_set(walk->error, walk->code, "%s %.200s: \"%.100s\" %s", walk->kind, walk->path,
                    name, what);
    error_set_hint(walk->error, "%s, so that nobody but root and the gateway's user can change it",
                   remedy);
    return -1;
}

/* 0, or -1 with the error. */
static int check_owner(const struct walk *walk, const char *name, const struct stat *status)
{
    if (status->st_uid == 0 || status->st_uid == geteuid())
        return 0;
    return distrust(walk, name, "belongs to a user other than root and the gateway's own",
                    "chown root it");
}

static int check_directory(const struct walk *walk, const char *name, const struct stat *status)
{
    if (check_owner(walk, name, status) != 0)
        return -1;
    if ((status->st_mode & (S_IWGRP | S_IWOTH)) == 0 || (status->st_mode & S_ISVTX) != 0)
        return 0;
    return distrust(walk, name, "is a directory that other users can write to", "chmod go-w it");
}

static int check_file(const struct walk *walk, const char *name, const struct stat *status)
{
    if (!S_ISREG(status->st_mode))
        return error_set(walk->error, walk->code, "%s %.200s: not a regular file", walk->kind,
                         walk->path);
    if (check_owner(walk, name, status) != 0)
        return -1;
    if ((status->st_mode & (S_IWGRP | S_IWOTH)) == 0)
        return 0;
    return distrust(walk, name, "can be written by other users", "chmod go-w it");
}

/* Goes to the directory of that name. */
static int enter_directory(struct walk *walk, const char *name)
{
    struct stat status;
    CLEANUP_CLOSE int fd =
        openat(walk->directory, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return fail_walk(walk, errno, "cannot be read");
    if (fstat(fd, &status) < 0)
        return fail_walk(walk, errno, "fstat");
    if (check_directory(walk, name, &status) != 0)
        return -1;
    walk_end(walk);
    walk->directory = TAKE_FD(fd);
    return 0;
}

/* Puts the link's target before the rest. */
static int follow_link(struct walk *walk, const char *name)
{
    char target[PATH_MAX];
    ssize_t length = readlinkat(walk->directory, name, target, sizeof(target));
    if (length < 0)
        return fail_walk(walk, errno, "readlink");
    if (++walk->links > TRUSTED_LINKS_LIMIT)
        return fail_walk(walk, ELOOP, "cannot be read");
    size_t left = strlen(walk->rest);
    if ((size_t)length + left >= sizeof(walk->rest))
        return fail_walk(walk, ENAMETOOLONG, "cannot be read");
    memmove(walk->rest + length, walk->rest, left + 1); /* it is empty, or begins with a slash */
    memcpy(walk->rest, target, (size_t)length);
    return walk->rest[0] == '/' ? enter_directory(walk, "/") : 0;
}

/* Takes the first name off the rest; false at its end. */
static bool next_name(struct walk *walk, char name[NAME_MAX + 1], int *ret_problem)
{
    const char *begin = walk->rest + strspn(walk->rest, "/");
    size_t length = strcspn(begin, "/");
    *ret_problem = length > NAME_MAX ? ENAMETOOLONG : 0;
    if (length == 0 || *ret_problem != 0)
        return false;
    memcpy(name, begin, length);
    name[length] = '\0';
    memmove(walk->rest, begin + length, strlen(begin + length) + 1);
    return true;
}

static int open_last(struct walk *walk, const char *name)
{
    struct stat status;
    CLEANUP_CLOSE int fd =
        openat(walk->directory, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
    if (fd < 0)
        return fail_walk(walk, errno, "cannot be read");
    if (fstat(fd, &status) < 0)
        return fail_walk(walk, errno, "fstat");
    return check_file(walk, name, &status) != 0 ? -1 : TAKE_FD(fd);
}

/* One name: a step into a directory or a link (-1 with *ret_more), or the file. */
static int walk_name(struct walk *walk, const char *name, bool *ret_more)
{
    struct stat status;
    *ret_more = false;
    if (fstatat(walk->directory, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return fail_walk(walk, errno, "cannot be read");
    bool is_link = S_ISLNK(status.st_mode);
    if (!is_link && !S_ISDIR(status.st_mode) && walk->rest[0] == '\0')
        return open_last(walk, name);
    *ret_more = is_link ? check_owner(walk, name, &status) == 0 && follow_link(walk, name) == 0
                        : enter_directory(walk, name) == 0;
    return -1;
}

static int start_walk(struct walk *walk)
{
    size_t length = strlen(walk->path);
    if (length == 0)
        return fail_walk(walk, ENOENT, "cannot be read");
    if (walk->path[0] != '/' && !getcwd(walk->rest, sizeof(walk->rest)))
        return fail_walk(walk, errno, "no working directory");
    size_t used = strlen(walk->rest);
    if (used + length + 2 > sizeof(walk->rest))
        return fail_walk(walk, ENAMETOOLONG, "cannot be read");
    walk->rest[used] = '/';
    memcpy(walk->rest + used + 1, walk->path, length + 1);
    return enter_directory(walk, "/");
}

int trusted_file_open(const char *kind, const char *path, enum error_code code, struct error *error)
{
    CLEANUP(walk_end)
    struct walk walk = {.kind = kind, .path = path, .code = code, .error = error, .directory = -1};
    char name[NAME_MAX + 1];
    int problem = 0;
    if (start_walk(&walk) != 0)
        return -1;
    while (next_name(&walk, name, &problem)) {
        bool more;
        int fd = walk_name(&walk, name, &more);
        if (!more)
            return fd;
    }
    if (problem != 0)
        return fail_walk(&walk, problem, "cannot be read");
    return error_set(error, code, "%s %.200s: not a regular file", kind, path);
}

ssize_t trusted_file_read(int fd, void *bytes, size_t length)
{
    size_t used = 0;
    while (used < length) {
        ssize_t count = read(fd, (char *)bytes + used, length - used);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return -1;
        if (count == 0)
            break;
        used += (size_t)count;
    }
    return (ssize_t)used;
}
