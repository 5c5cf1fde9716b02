/* SPDX-License-Identifier: Apache-2.0 */
/* Opens, locks and appends to the file of an audit log. On the thread that appends. */
#include "audit/audit_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/state_file.h"

#define CODE         "audit_unavailable"
#define LOCK_WAIT_MS 30000

static bool refuse_file(struct failure *failure, const char *path)
{
    (void)failure_set_errno(failure, CODE, errno, "audit log %s", path);
    return failure_set_hint(failure, "name a writable file with --audit FILE");
}

/* Not forever: a host that hangs on a lock is worse than one that says why it does not run. */
static bool lock_file(int fd, const char *path, uint64_t deadline_ms, struct failure *failure)
{
    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return failure_set_errno(failure, CODE, errno, "cannot lock %s", path);
        if (monotonic_ms() >= deadline_ms)
            return failure_set(failure, CODE, "another process has kept %s locked for %d s", path,
                               LOCK_WAIT_MS / 1000);
        (void)usleep(2000);
    }
    return true;
}

static bool is_file_at(const char *path, const struct stat *opened)
{
    struct stat named;
    return lstat(path, &named) == 0 && named.st_ino == opened->st_ino &&
           named.st_dev == opened->st_dev;
}

static bool open_once(const char *path, uint64_t deadline_ms, struct audit_file *ret,
                      bool *ret_rotated, struct failure *failure)
{
    CLEANUP_CLOSE int fd = open(
        path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW, 0600);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) < 0)
        return refuse_file(failure, path);
    bool is_device = S_ISCHR(status.st_mode);
    if (!is_device && (!trusted_file_check(&status, path, CODE, failure) ||
                       !lock_file(fd, path, deadline_ms, failure)))
        return false;
    if (fstat(fd, &status) < 0) /* the size may be another now */
        return refuse_file(failure, path);
    *ret_rotated = !is_file_at(path, &status);
    *ret = (struct audit_file){path, TAKE_FD(fd), status.st_size, is_device};
    return true;
}

bool audit_file_open(const char *path, struct audit_file *ret, struct failure *failure)
{
    uint64_t deadline_ms = monotonic_ms() + LOCK_WAIT_MS;
    for (;;) {
        CLEANUP(audit_file_close) struct audit_file file = {.fd = -1};
        bool rotated = false;
        if (!open_once(path, deadline_ms, &file, &rotated, failure))
            return false;
        if (!rotated) {
            *ret = file;
            file.fd = -1;
            return true;
        }
        if (monotonic_ms() >= deadline_ms)
            return failure_set(failure, CODE, "%s keeps being replaced", path);
    }
}

void audit_file_close(struct audit_file *file)
{
    close_fd(file->fd);
    file->fd = -1;
}

bool audit_file_write(struct audit_file *file, const char *text, size_t length,
                      struct failure *failure)
{
    ssize_t written = write(file->fd, text, length);
    if (written == (ssize_t)length && fdatasync(file->fd) == 0) {
        file->size += (off_t)length;
        return true;
    }
    int error_number = written >= 0 && written < (ssize_t)length ? ENOSPC : errno;
    /* Where even that fails the line stays torn, and the next append mends it. */
    (void)!ftruncate(file->fd, file->size);
    (void)failure_set_errno(failure, CODE, error_number, "cannot write to %s", file->path);
    return failure_set_hint(failure,
                            "a run that cannot be recorded is refused: free some space, or name "
                            "another file with --audit FILE");
}

bool audit_file_append(struct audit_file *file, struct audit_link *last, const char *prefix,
                       const char *object, bool of_log, const struct hmac_key *key,
                       struct failure *failure)
{
    CLEANUP_FREE char *line = NULL;
    CLEANUP_FREE char *text = NULL;
    size_t length = 0;
    if (!object)
        return failure_out_of_memory(failure);
    if (!audit_line_make(last, object, of_log, key, &line, &length, failure))
        return false;
    if (asprintf(&text, "%s%s", prefix, line) < 0) {
        text = NULL;
        return failure_out_of_memory(failure);
    }
    if (!audit_file_write(file, text, strlen(text), failure))
        return false;
    audit_link_advance(last, line, length);
    return true;
}

bool audit_file_sync_directory(const char *path, struct failure *failure)
{
    CLEANUP_FREE char *copy = strdup(path);
    if (!copy)
        return failure_out_of_memory(failure);
    CLEANUP_CLOSE int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) < 0)
        return failure_set_errno(failure, CODE, errno, "the directory of %s", path);
    return true;
}
