/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets that are files of a directory: systemd's credentials, /run/secrets, a mounted volume. The
 * checks are of the opened file, never of a path. Runs in the gateway, on the thread inside
 * tool_invoke().
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/trusted_file.h"
#include "secrets/secret_provider.h"

/* Where it is: for messages. */
struct place {
    const char *directory;
    const char *name;
};

static enum secret_answer unreadable(const struct place *place, int error_number,
                                     struct error *error)
{
    error_set_errno(error, ERROR_SECRET_UNAVAILABLE, error_number,
                    "the secret \"%s\" cannot be read from %s", place->name, place->directory);
    return SECRET_FAILED;
}

static enum secret_answer unsafe(const struct place *place, const char *why, struct error *error)
{
    error_set(error, ERROR_SECRET_UNAVAILABLE, "the secret \"%s\" of %s is not used: %s",
              place->name, place->directory, why);
    return SECRET_FAILED;
}

/* NULL: it is ours or root's, and nobody has a right to it that is forbidden. */
static const char *find_fault(const struct stat *status, mode_t forbidden)
{
    if (status->st_uid != 0 && status->st_uid != geteuid())
        return "it belongs to another user";
    if ((status->st_mode & forbidden & (S_IWGRP | S_IWOTH)) != 0)
        return "users other than its owner may write to it";
    if ((status->st_mode & forbidden) != 0)
        return "users other than its owner may read it";
    return NULL;
}

/* Links that are followed may only lead below the directory: a Kubernetes volume has "..data".
 * Never waits: the file may be a FIFO. */
static int open_file(int directory, const struct secret_provider *provider, const char *name)
{
    const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    if (!provider->links)
        return openat(directory, name, flags | O_NOFOLLOW);
    const struct open_how how = {
        .flags = (uint64_t)flags,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
    };
    return (int)syscall(SYS_openat2, directory, name, &how, sizeof(how));
}

static enum secret_answer take_content(int fd, const struct place *place, struct secret_value *ret,
                                       struct error *error)
{
    CLEANUP(secret_value_clear) struct secret_value value = {0};
    /* One byte more than a value and its line feed may have. */
    if (locked_memory_get(SECRET_VALUE_LIMIT + 2, &value.memory) != 0)
        return unreadable(place, errno, error);
    ssize_t length = trusted_file_read(fd, value.memory.bytes, SECRET_VALUE_LIMIT + 2);
    if (length < 0)
        return unreadable(place, errno, error);
    value.length = (size_t)length;
    return secret_value_take(place->name, &value, ret, error);
}

enum secret_answer secret_file_read(const struct secret_provider *provider, const char *directory,
                                    mode_t forbidden, const char *name, struct secret_value *ret,
                                    struct error *error)
{
    const struct place place = {.directory = directory, .name = name};
    struct stat status;
    CLEANUP_CLOSE int parent = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (parent < 0)
        return errno == ENOENT ? SECRET_ABSENT : unreadable(&place, errno, error);
    if (fstat(parent, &status) != 0)
        return unreadable(&place, errno, error);
    if (find_fault(&status, S_IWGRP | S_IWOTH))
        return unsafe(
            &place, "the directory belongs to another user, or other users may write to it", error);
    CLEANUP_CLOSE int fd = open_file(parent, provider, name);
    if (fd < 0)
        return errno == ENOENT ? SECRET_ABSENT : unreadable(&place, errno, error);
    if (fstat(fd, &status) != 0)
        return unreadable(&place, errno, error);
    if (!S_ISREG(status.st_mode))
        return unsafe(&place, "it is not a regular file", error);
    const char *fault = find_fault(&status, forbidden);
    if (fault)
        return unsafe(&place, fault, error);
    return take_content(fd, &place, ret, error);
}
