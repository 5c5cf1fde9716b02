/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the sweep of directories whose supervisor, init and guardian are gone: see run_directory.h.
 * The pid in a name proves nothing, as another container may share the place; the lock does. Runs
 * in the supervisor, and in the child that removes them.
 */
#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "backends/process/program/program.h"
#include "backends/process/sandbox/own_directory.h"
#include "backends/process/sandbox/sandbox_clone.h"
#include "backends/process/supervisor/launch/run_directory.h"
#include "base/ascii.h"
#include "base/cleanup.h"

#define PREFIX       "code-execute-"
#define RANDOM_PART  6 /* mkdtemp(3) */
#define NAME_SIZE    32
#define ENTRIES_MOST 20000
#define STRAYS_MOST  32
#define ZFS_MAGIC    0x2FC12FC1 /* not in the kernel's header */

struct stray {
    char name[NAME_SIZE];
    int directory;
    int lock;
};

struct strays {
    int place;
    size_t count;
    struct stray of[STRAYS_MOST];
};

static bool is_name(const char *name)
{
    if (strlen(name) >= NAME_SIZE || strncmp(name, PREFIX, strlen(PREFIX)) != 0)
        return false;
    const char *pid = name + strlen(PREFIX);
    const char *rest = pid + strspn(pid, ASCII_DIGITS);
    return rest > pid && *rest == '-' && strspn(rest + 1, ASCII_ALPHANUMERIC) == RANDOM_PART &&
           rest[1 + RANDOM_PART] == '\0';
}

/* A lock on another file system may be one of this machine alone, while runs of others use it. */
static bool has_locks_of_all(int fd)
{
    static const uint32_t kinds[] = {TMPFS_MAGIC,     RAMFS_MAGIC,          EXT4_SUPER_MAGIC,
                                     XFS_SUPER_MAGIC, F2FS_SUPER_MAGIC,     BTRFS_SUPER_MAGIC,
                                     ZFS_MAGIC,       OVERLAYFS_SUPER_MAGIC};
    struct statfs status;
    if (fstatfs(fd, &status) < 0)
        return false;
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if ((uint32_t)status.f_type == kinds[i])
            return true;
    return false;
}

static bool is_own(int fd, mode_t type)
{
    struct stat status;
    return fstat(fd, &status) == 0 && (status.st_mode & S_IFMT) == type &&
           status.st_uid == geteuid() && status.st_nlink > 0;
}

/* That the file is there and this user's shows that the directory was made for a run: whoever else
 * may write to the place can rename a directory there, but not put a file of this user into it. */
static bool take_stray(int place, const char *name, struct stray *ret)
{
    CLEANUP_CLOSE int directory =
        openat(place, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory < 0 || !is_own(directory, S_IFDIR))
        return false;
    CLEANUP_CLOSE int lock =
        openat(directory, OWN_LOCK, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (lock < 0 || !has_locks_of_all(lock) || flock(lock, LOCK_EX | LOCK_NB) < 0 ||
        !is_own(lock, S_IFREG))
        return false;
    (void)snprintf(ret->name, sizeof(ret->name), "%s", name);
    ret->directory = TAKE_FD(directory);
    ret->lock = TAKE_FD(lock);
    return true;
}

static void close_strays(struct strays *strays)
{
    for (size_t i = 0; i < strays->count; i++) {
        close_fd(strays->of[i].directory);
        close_fd(strays->of[i].lock);
    }
}

static void find_strays(DIR *place, struct strays *ret)
{
    const struct dirent *entry;
    *ret = (struct strays){.place = dirfd(place)};
    for (int i = 0; i < ENTRIES_MOST && ret->count < STRAYS_MOST && (entry = readdir(place)); i++)
        if (is_name(entry->d_name) && take_stray(ret->place, entry->d_name, &ret->of[ret->count]))
            ret->count++;
}

/* The child: by descriptor, whatever has the name by now. The directory itself goes only where it
 * is empty, so nothing is lost where its name is another's. */
static void remove_stray(const struct strays *strays, const struct stray *stray)
{
    if (fchdir(stray->directory) < 0)
        return;
    own_directory_remove(".");
    (void)unlinkat(strays->place, stray->name, AT_REMOVEDIR);
}

/* The child keeps open what it needs, and nothing of runs that are under way. */
static _Noreturn void remove_strays(const struct strays *strays)
{
    int kept[1 + 2 * STRAYS_MOST] = {strays->place};
    size_t count = 1;
    for (size_t i = 0; i < strays->count; i++) {
        kept[count++] = strays->of[i].directory;
        kept[count++] = strays->of[i].lock;
    }
    if (program_close_other_descriptors(kept, count) < 0)
        _exit(1);
    for (size_t i = 0; i < strays->count; i++)
        remove_stray(strays, &strays->of[i]);
    _exit(0);
}

size_t run_directories_sweep(const char *path, pid_t *ret_pid, int *ret_pidfd)
{
    DIR *place = opendir(path);
    if (!place)
        return 0;
    CLEANUP(close_strays) struct strays strays;
    find_strays(place, &strays);
    pid_t pid = strays.count > 0 ? clone_process(0, ret_pidfd) : -1;
    if (pid == 0)
        remove_strays(&strays);
    (void)closedir(place);
    if (pid < 0)
        return 0;
    *ret_pid = pid;
    return strays.count;
}
