/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rotates an audit log: the new file is written aside with its first line, the old one gets a
 * second name, and the new one takes the first name over in one step. A crash in between leaves the
 * old file in its place, and the next rotation goes on from there. On the thread that has the lock.
 */
#include "audit/audit_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/cleanup.h"

#define CODE "audit_unavailable"

/* Named after its last record, so that names sort by age. */
static char *name_of_old(const char *path, const struct audit_link *last)
{
    char *name = NULL;
    int length =
        asprintf(&name, "%s.%012llu-%.8s", path, (unsigned long long)last->seq, last->sha256);
    return length < 0 ? NULL : name;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The lock of the log's file covers the file aside; one that exists is left over from a crash. */
static int open_aside(const char *path, struct failure *failure)
{
    (void)unlink(path);
    CLEANUP_CLOSE int fd =
        open(path, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW, 0600);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0) {
        (void)failure_set_errno(failure, CODE, errno, "cannot make %s", path);
        return -1;
    }
    return TAKE_FD(fd);
}

static bool write_first(struct audit_file *file, const char *old_name, struct audit_link *last,
                        const struct hmac_key *key, struct failure *failure)
{
    CLEANUP_FREE char *entry = audit_own_entry_rotated(base_name(old_name));
    return audit_file_append(file, last, "", entry, true, key, failure);
}

static bool is_same_file(const char *one, const char *other)
{
    struct stat first, second;
    return lstat(one, &first) == 0 && lstat(other, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

static bool replace_log(const char *path, const char *aside, const char *old_name,
                        struct failure *failure)
{
    if (link(path, old_name) < 0 && !(errno == EEXIST && is_same_file(path, old_name))) {
        (void)failure_set_errno(failure, CODE, errno, "cannot link %s as %s", path, old_name);
        return failure_set_hint(
            failure,
            "rotation makes a hard link next to the log; --audit-max-bytes 0 turns rotation off");
    }
    if (rename(aside, path) < 0)
        return failure_set_errno(failure, CODE, errno, "cannot rename %s to %s", aside, path);
    return audit_file_sync_directory(path, failure);
}

bool audit_file_rotate(struct audit_file *file, struct audit_link *last, const struct hmac_key *key,
                       char **ret_name, struct failure *failure)
{
    CLEANUP_FREE char *old_name = name_of_old(file->path, last);
    CLEANUP_FREE char *aside = NULL;
    CLEANUP(audit_file_close) struct audit_file next = {.path = file->path, .fd = -1};
    struct audit_link next_last = *last;
    if (asprintf(&aside, "%s.new", file->path) < 0)
        aside = NULL;
    if (!old_name || !aside)
        return failure_out_of_memory(failure);
    next.fd = open_aside(aside, failure);
    if (next.fd < 0)
        return false;
    if (!write_first(&next, old_name, &next_last, key, failure) ||
        !replace_log(file->path, aside, old_name, failure)) {
        (void)unlink(aside);
        return false;
    }
    audit_file_close(file);
    *file = next;
    next.fd = -1;
    *last = next_last;
    *ret_name = TAKE_POINTER(old_name);
    return true;
}
