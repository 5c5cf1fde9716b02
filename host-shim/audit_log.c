/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Appends to the hash-chained audit log. The file is opened for each record and locked meanwhile,
 * so that several toolhosts can share it. On the thread inside tool_invoke().
 */
#include "audit_log.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "audit_line.h"
#include "cleanup.h"
#include "descriptor_io.h"
#include "monotonic_clock.h"

#define LOCK_WAIT_MS 10000

static bool make_directory(const char *path, struct failure *failure)
{
    if (mkdir(path, 0700) == 0 || errno == EEXIST)
        return true;
    return failure_set_errno(failure, "audit_unavailable", errno, "cannot make directory %s", path);
}

static bool make_parent_directories(char *path, struct failure *failure)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        bool made = make_directory(path, failure);
        *slash = '/';
        if (!made)
            return false;
    }
    return true;
}

bool audit_log_default_path(char **ret_path, struct failure *failure)
{
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    CLEANUP_FREE char *path = NULL;
    int length = -1;
    if (state && state[0] == '/')
        length = asprintf(&path, "%s/toolhost/audit.jsonl", state);
    else if (home && home[0] == '/')
        length = asprintf(&path, "%s/.local/state/toolhost/audit.jsonl", home);
    else {
        (void)failure_set(failure, "audit_unavailable", "no place for the audit log");
        failure_set_hint(failure, "set HOME or XDG_STATE_HOME, or give --audit FILE");
        return false;
    }
    if (length < 0) {
        path = NULL;
        return failure_out_of_memory(failure);
    }
    if (!make_parent_directories(path, failure))
        return false;
    *ret_path = TAKE_POINTER(path);
    return true;
}

/* Not forever: a host that hangs on a lock is worse than one that says why it does not run. */
static bool lock(int fd, const char *path, struct failure *failure)
{
    int64_t deadline = monotonic_ms() + LOCK_WAIT_MS;
    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return failure_set_errno(failure, "audit_unavailable", errno, "cannot lock %s", path);
        if (monotonic_ms() >= deadline)
            return failure_set(failure, "audit_unavailable",
                               "another process has kept %s locked for %d s", path,
                               LOCK_WAIT_MS / 1000);
        (void)usleep(2000);
    }
    return true;
}

static bool refuse_broken(struct failure *failure, const char *path, const char *how)
{
    (void)failure_set(failure, "audit_unavailable", "the last line of %s %s", path, how);
    failure_set_hint(failure,
                     "look at it with: toolhost audit verify FILE; keep the file, move it away "
                     "and a new log is begun");
    return false;
}

/* The last size bytes of the file at most, in full. */
static bool read_end(int fd, off_t file_size, char *buffer, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t got = pread(fd, buffer + done, size - done, file_size - (off_t)(size - done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

static bool find_last_link(int fd, off_t file_size, const char *path, struct audit_link *ret,
                           struct failure *failure)
{
    *ret = audit_link_none();
    if (file_size == 0)
        return true;
    size_t size = file_size < AUDIT_LINE_LIMIT + 1 ? (size_t)file_size : AUDIT_LINE_LIMIT + 1;
    CLEANUP_FREE char *end = malloc(size);
    if (!end)
        return failure_out_of_memory(failure);
    if (!read_end(fd, file_size, end, size))
        return failure_set_errno(failure, "audit_unavailable", errno, "cannot read %s", path);
    if (end[size - 1] != '\n')
        return refuse_broken(failure, path, "is torn (a crash or a full disk cut it off)");
    const char *before = size > 1 ? memrchr(end, '\n', size - 1) : NULL;
    if (!before && (off_t)size < file_size)
        return refuse_broken(failure, path, "is longer than any record");
    const char *line = before ? before + 1 : end;
    char previous[AUDIT_SHA256_HEX + 1];
    struct failure why;
    if (!audit_line_check(line, size - 1 - (size_t)(line - end), ret, previous, &why))
        return refuse_broken(failure, path, why.message);
    return true;
}

/* The whole line or nothing of it: what a full disk has left of it is taken back. */
static bool write_line(int fd, off_t old_size, const char *line, size_t length)
{
    ssize_t written = write(fd, line, length);
    if (written == (ssize_t)length && fdatasync(fd) == 0)
        return true;
    int saved = written >= 0 && written < (ssize_t)length ? ENOSPC : errno;
    /* Where even that fails the line stays torn, and the next append says so. */
    (void)!ftruncate(fd, old_size);
    errno = saved;
    return false;
}

static bool append_chained(int fd, const char *path, const char *record_json,
                           struct failure *failure)
{
    if (!lock(fd, path, failure))
        return false;
    struct stat status;
    if (fstat(fd, &status) < 0)
        return failure_set_errno(failure, "audit_unavailable", errno, "%s", path);
    struct audit_link last;
    if (!find_last_link(fd, status.st_size, path, &last, failure))
        return false;
    CLEANUP_FREE char *line = NULL;
    size_t length = 0;
    if (!audit_line_make(&last, record_json, &line, &length, failure))
        return false;
    if (!write_line(fd, status.st_size, line, length))
        return failure_set_errno(failure, "audit_unavailable", errno, "cannot write to %s", path);
    return true;
}

static bool append_unchained(int fd, const char *path, const char *record_json,
                             struct failure *failure)
{
    struct audit_link none = audit_link_none();
    CLEANUP_FREE char *line = NULL;
    size_t length = 0;
    if (!audit_line_make(&none, record_json, &line, &length, failure))
        return false;
    if (!write_fully(fd, line, length))
        return failure_set_errno(failure, "audit_unavailable", errno, "cannot write to %s", path);
    return true;
}

bool audit_log_append(const char *path, const char *record_json, struct failure *failure)
{
    CLEANUP_CLOSE int fd =
        open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) < 0) {
        (void)failure_set_errno(failure, "audit_unavailable", errno, "audit log %s", path);
        failure_set_hint(failure, "give a writable file with --audit FILE");
        return false;
    }
    if (S_ISCHR(status.st_mode))
        return append_unchained(fd, path, record_json, failure);
    if (!S_ISREG(status.st_mode))
        return failure_set(failure, "audit_unavailable", "audit log %s: not a regular file", path);
    return append_chained(fd, path, record_json, failure);
}
