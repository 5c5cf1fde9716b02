/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the counting of a run's files: see scratch_use.h. */
#include "backends/process/program/scratch_use.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/process/program/process_memory.h"
#include "base/cleanup.h"

#define DEPTH_MOST  256 /* of directories; what is deeper counts as too much */
#define BLOCK_BYTES 512 /* stat(2) */

struct walk {
    struct scratch_use *use;
    uint64_t most_inodes;
};

static void close_directory(DIR **directory)
{
    if (*directory)
        (void)closedir(*directory);
}

static bool is_full(const struct walk *walk)
{
    return walk->use->is_beyond_count ||
           (walk->most_inodes != 0 && walk->use->inodes > walk->most_inodes);
}

/* What a directory had that was opened up. */
struct closed_mode {
    bool is_to_be_restored;
    mode_t mode;
};

/* The descriptor is of that directory and no link. */
static int open_closed_directory(int parent, const char *name, struct closed_mode *ret)
{
    char path[32];
    struct stat status;
    CLEANUP_CLOSE int fd = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) < 0)
        return -1;
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (chmod(path, 0700) < 0)
        return -1;
    int opened = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ret->is_to_be_restored = opened >= 0;
    ret->mode = status.st_mode & ~(mode_t)S_IFMT;
    return opened;
}

static DIR *open_directory(int parent, const char *name, struct closed_mode *ret)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    *ret = (struct closed_mode){false, 0};
    if (fd < 0 && errno == EACCES)
        fd = open_closed_directory(parent, name, ret);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    if (!directory)
        close_fd(fd);
    return directory;
}

static void count_directory(struct walk *walk, int parent, const char *name, unsigned depth);

/* Each of a file's names brings its part of it. */
static void count_entry(struct walk *walk, int directory, const char *name, unsigned depth)
{
    struct stat status;
    if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    walk->use->inodes++;
    uint64_t bytes = (uint64_t)status.st_blocks * BLOCK_BYTES;
    walk->use->bytes +=
        S_ISDIR(status.st_mode) || status.st_nlink < 2 ? bytes : bytes / status.st_nlink;
    if (S_ISDIR(status.st_mode))
        count_directory(walk, directory, name, depth + 1);
}

static void count_entries(struct walk *walk, DIR *directory, unsigned depth)
{
    for (const struct dirent *entry; !is_full(walk) && (entry = readdir(directory));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            count_entry(walk, dirfd(directory), entry->d_name, depth);
}

static void count_directory(struct walk *walk, int parent, const char *name, unsigned depth)
{
    if (depth == DEPTH_MOST) {
        walk->use->is_beyond_count = true;
        return;
    }
    struct closed_mode closed;
    CLEANUP(close_directory) DIR *directory = open_directory(parent, name, &closed);
    if (!directory)
        return;
    count_entries(walk, directory, depth);
    if (closed.is_to_be_restored)
        (void)fchmod(dirfd(directory), closed.mode);
}

void scratch_use_count(const char *directory, uint64_t most_inodes, struct scratch_use *ret)
{
    struct statx status;
    struct walk walk = {.use = ret, .most_inodes = most_inodes};
    *ret = (struct scratch_use){.bytes = 0};
    if (statx(AT_FDCWD, directory, 0, STATX_MNT_ID, &status) < 0)
        return;
    ret->mount = status.stx_mnt_id;
    count_directory(&walk, AT_FDCWD, directory, 0);
}

static bool is_counted(struct counted_inodes *known, uint64_t inode)
{
    for (size_t i = 0; i < known->count; i++)
        if (known->numbers[i] == inode)
            return true;
    if (known->count < COUNT_OF(known->numbers))
        known->numbers[known->count++] = inode;
    return false;
}

/* By its mount: on some file systems a file's device is not that of its directory. */
static void add_open(struct scratch_use *use, const struct statx *status)
{
    if (S_ISSOCK(status->stx_mode))
        use->sockets += !is_counted(&use->counted_sockets, status->stx_ino);
    if (!S_ISREG(status->stx_mode) || status->stx_nlink > 0 || status->stx_mnt_id != use->mount ||
        is_counted(&use->deleted, status->stx_ino))
        return;
    use->inodes++;
    use->bytes += status->stx_blocks * BLOCK_BYTES;
}

/* As of a process that runs a program which it may not read: the kernel lets nobody look at it. Of
 * one that is about to end as well. */
static bool is_hidden(pid_t pid, int error)
{
    uint64_t memory_bytes;
    return (error == EACCES || error == EPERM) && process_memory_whole(pid, &memory_bytes) &&
           memory_bytes > 0;
}

void scratch_use_add_open(struct scratch_use *use, pid_t pid)
{
    const unsigned int wanted = STATX_TYPE | STATX_NLINK | STATX_INO | STATX_BLOCKS | STATX_MNT_ID;
    char path[32];
    struct statx status;
    (void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    CLEANUP(close_directory) DIR *directory = opendir(path);
    if (!directory) {
        use->is_beyond_count |= is_hidden(pid, errno);
        return;
    }
    for (const struct dirent *entry; (entry = readdir(directory));) {
        if (entry->d_name[0] == '.')
            continue;
        if (statx(dirfd(directory), entry->d_name, 0, wanted, &status) == 0)
            add_open(use, &status);
        else
            use->is_beyond_count |= is_hidden(pid, errno);
    }
}
