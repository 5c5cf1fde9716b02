/* SPDX-License-Identifier: Apache-2.0 */
/* Files in memory: see file_snapshot.h. */
#include "guest/files/file_snapshot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/remove_tree.h"
#include "base/write_fully.h"
#include "protocol/run_description.h"
#include "protocol/session.h"

#define SNAPSHOT_LIMIT ((size_t)16 << 20)
#define DEPTH_LIMIT    64
#define CHUNK          ((size_t)64 << 10)

#define EMPTYING_LIMIT 16 /* passes over a directory */

const struct file_snapshot_places file_snapshot_mounted_places = {
    .home = RUN_HOME, .temporary = "/tmp", .shared_memory = "/dev/shm"};

/* Behind it its path, with the terminating NUL, and its content: of a file its bytes, of a link its
 * target. */
struct entry {
    mode_t mode;
    struct timespec modified;
    size_t path_length;
    size_t length;
};

static bool reserve(struct file_snapshot *snapshot, size_t more)
{
    size_t room = snapshot->room;
    while (room - snapshot->length < more)
        room = room == 0 ? CHUNK : room * 2;
    if (snapshot->length + more > SNAPSHOT_LIMIT) {
        errno = EFBIG;
        return false;
    }
    unsigned char *bytes =
        room == snapshot->room ? snapshot->bytes : realloc(snapshot->bytes, room);
    if (!bytes)
        return false;
    snapshot->bytes = bytes;
    snapshot->room = room;
    return true;
}

static bool append(struct file_snapshot *snapshot, const void *bytes, size_t length)
{
    if (!reserve(snapshot, length))
        return false;
    memcpy(snapshot->bytes + snapshot->length, bytes, length);
    snapshot->length += length;
    return true;
}

/* The content of an entry whose head is at that place; its length is written there. */
static bool append_content(struct file_snapshot *snapshot, int fd, size_t head)
{
    size_t begin = snapshot->length;
    ssize_t count = 1;
    while (count > 0) {
        if (!reserve(snapshot, CHUNK))
            return false;
        count = read(fd, snapshot->bytes + snapshot->length, CHUNK);
        if (count < 0)
            return false;
        snapshot->length += (size_t)count;
    }
    struct entry entry;
    memcpy(&entry, snapshot->bytes + head, sizeof(entry));
    entry.length = snapshot->length - begin;
    memcpy(snapshot->bytes + head, &entry, sizeof(entry));
    return true;
}

/* The sources of cells stay: tracebacks quote them, and a copy of all of them would cost each
 * checkpoint more than the one before. */
static bool is_left(const struct file_snapshot_places *places, const char *path)
{
    size_t length = strlen(places->temporary);
    return strncmp(path, places->temporary, length) == 0 &&
           strncmp(path + length, "/" SESSION_CELL_SOURCES, sizeof("/" SESSION_CELL_SOURCES) - 1) ==
               0;
}

/* false where it is too long for a path. */
static bool join(const char *directory, const char *name, char ret[PATH_MAX])
{
    int length = snprintf(ret, PATH_MAX, "%s/%s", directory, name);
    errno = EINVAL;
    return length > 0 && length < PATH_MAX;
}

static bool take_directory(struct file_snapshot *snapshot, const char *path, int depth);

/* Nobody else changes it meanwhile: its only owner waits. */
static bool take_entry(struct file_snapshot *snapshot, const char *path, int depth)
{
    struct stat status;
    char target[PATH_MAX];
    if (lstat(path, &status) < 0)
        return false;
    struct entry entry = {
        .mode = status.st_mode, .modified = status.st_mtim, .path_length = strlen(path)};
    size_t head = snapshot->length;
    ssize_t target_length = S_ISLNK(status.st_mode) ? readlink(path, target, sizeof(target)) : 0;
    if (target_length < 0)
        return false;
    entry.length = (size_t)target_length;
    if (!append(snapshot, &entry, sizeof(entry)) || !append(snapshot, path, entry.path_length + 1))
        return false;
    if (S_ISLNK(status.st_mode))
        return append(snapshot, target, entry.length);
    if (S_ISDIR(status.st_mode))
        return take_directory(snapshot, path, depth + 1);
    errno = EINVAL;
    if (!S_ISREG(status.st_mode) || status.st_nlink != 1)
        return false;
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    return fd >= 0 && append_content(snapshot, fd, head);
}

static bool take_directory(struct file_snapshot *snapshot, const char *path, int depth)
{
    char inner[PATH_MAX];
    errno = EINVAL;
    DIR *stream = depth < DEPTH_LIMIT ? opendir(path) : NULL;
    bool is_whole = stream;
    for (struct dirent *found; is_whole && (found = readdir(stream));)
        if (strcmp(found->d_name, ".") != 0 && strcmp(found->d_name, "..") != 0)
            is_whole = join(path, found->d_name, inner) &&
                       (is_left(snapshot->places, inner) || take_entry(snapshot, inner, depth));
    int error = errno;
    if (stream)
        (void)closedir(stream);
    errno = error;
    return is_whole;
}

static bool take_place(struct file_snapshot *snapshot, const char *place)
{
    return !place || access(place, F_OK) < 0 || take_entry(snapshot, place, 0);
}

bool file_snapshot_take(const struct file_snapshot_places *places, struct file_snapshot *ret)
{
    CLEANUP(file_snapshot_clear) struct file_snapshot snapshot = {.places = places};
    if (!take_place(&snapshot, places->home) || !take_place(&snapshot, places->temporary) ||
        !take_place(&snapshot, places->shared_memory))
        return false;
    *ret = snapshot;
    snapshot.bytes = NULL;
    return true;
}

static bool put_file(const char *path, const struct entry *entry, const unsigned char *content)
{
    CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    const struct timespec times[2] = {entry->modified, entry->modified};
    return fd >= 0 && write_fully(fd, content, entry->length) &&
           fchmod(fd, entry->mode & 07777) == 0 && futimens(fd, times) == 0;
}

static bool put_link(const char *path, const struct entry *entry, const unsigned char *content)
{
    char target[PATH_MAX];
    errno = EINVAL;
    if (entry->length >= sizeof(target))
        return false;
    memcpy(target, content, entry->length);
    target[entry->length] = '\0';
    return symlink(target, path) == 0;
}

static bool put_entry(const char *path, const struct entry *entry, const unsigned char *content)
{
    if (S_ISDIR(entry->mode))
        return mkdir(path, 0700) == 0 || errno == EEXIST; /* one of the places */
    return S_ISLNK(entry->mode) ? put_link(path, entry, content) : put_file(path, entry, content);
}

/* Only now is a directory as it was: entries were put into it. That of another user, as the engine
 * makes them, has a mode that nobody has changed. */
static bool finish_directory(const char *path, const struct entry *entry)
{
    const struct timespec times[2] = {entry->modified, entry->modified};
    if (!S_ISDIR(entry->mode))
        return true;
    if (chmod(path, entry->mode & 07777) < 0)
        return errno == EPERM;
    return utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The second time over finishes the directories. */
static bool put_all(const struct file_snapshot *snapshot, bool again)
{
    for (size_t at = 0; at < snapshot->length;) {
        struct entry entry;
        memcpy(&entry, snapshot->bytes + at, sizeof(entry));
        const char *path = (const char *)snapshot->bytes + at + sizeof(entry);
        const unsigned char *content = snapshot->bytes + at + sizeof(entry) + entry.path_length + 1;
        if (again ? !finish_directory(path, &entry) : !put_entry(path, &entry, content))
            return false;
        at += sizeof(entry) + entry.path_length + 1 + entry.length;
    }
    return true;
}

/* true: something was removed. */
static bool empty_once(const struct file_snapshot_places *places, const char *place)
{
    char path[PATH_MAX];
    DIR *stream = opendir(place);
    bool progress = false;
    if (!stream)
        return false;
    for (struct dirent *found; (found = readdir(stream));) {
        if (strcmp(found->d_name, ".") == 0 || strcmp(found->d_name, "..") == 0 ||
            !join(place, found->d_name, path) || is_left(places, path))
            continue;
        if (unlink(path) < 0)
            remove_tree(path);
        progress = true;
    }
    (void)closedir(stream);
    return progress;
}

static void empty(const struct file_snapshot_places *places, const char *place)
{
    if (!place)
        return;
    (void)chmod(place, 0700); /* put back with its entry */
    for (int pass = 0; pass < EMPTYING_LIMIT && empty_once(places, place); pass++)
        ;
}

bool file_snapshot_put_back(const struct file_snapshot *snapshot)
{
    empty(snapshot->places, snapshot->places->home);
    empty(snapshot->places, snapshot->places->temporary);
    empty(snapshot->places, snapshot->places->shared_memory);
    return put_all(snapshot, false) && put_all(snapshot, true);
}

void file_snapshot_clear(struct file_snapshot *snapshot)
{
    free(snapshot->bytes);
    *snapshot = (struct file_snapshot){.bytes = NULL};
}
