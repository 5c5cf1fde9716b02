/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the search for a place where groups may be made, and the supervisor's own directory there.
 * Runs in the supervisor at its start and end.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "backends/process/supervisor/cgroup/cgroup.h"
#include "backends/process/supervisor/cgroup/cgroup_file.h"
#include "base/ascii.h"
#include "base/cleanup.h"

#define BASE_PREFIX "code-execute-"
#define MAX_NAMES   8 /* tries: another pid namespace has the same pids, a sweep may come between */

/* One word of a comma- or space-separated list. */
static bool list_has(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; *at; at += strspn(at, ", \n")) {
        size_t part = strcspn(at, ", \n");
        if (part == length && strncmp(at, word, length) == 0)
            return true;
        at += part;
    }
    return false;
}

/* The group of this process in the hierarchy of the controller ("" for version 2): third field of
 * /proc/self/cgroup (cgroups(7)). */
static bool own_group(const char *controller, char *path, size_t size)
{
    CLEANUP_FILE FILE *file = fopen("/proc/self/cgroup", "re");
    char line[PATH_MAX];
    while (file && fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = '\0';
        char *list = strchr(line, ':');
        char *group = list ? strchr(list + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = '\0';
        list++;
        if (controller[0] ? list_has(list, controller) : list[0] == '\0')
            return (size_t)snprintf(path, size, "%s", group) < size;
    }
    return false;
}

struct mount_entry {
    char root[PATH_MAX];
    char place[PATH_MAX];
    char type[32];
    char options[512];
};

static bool read_mount(const char *line, struct mount_entry *ret)
{
    const char *separator = strstr(line, " - ");
    return separator && sscanf(line, "%*s %*s %*s %4095s %4095s", ret->root, ret->place) == 2 &&
           sscanf(separator, " - %31s %*s %511s", ret->type, ret->options) == 2;
}

/* The directory of this process's own group in that hierarchy, seen through its mount. */
static bool own_directory(const char *controller, char *path, size_t size)
{
    char group[PATH_MAX];
    if (!own_group(controller, group, sizeof(group)))
        return false;
    CLEANUP_FILE FILE *file = fopen("/proc/self/mountinfo", "re");
    char line[2 * PATH_MAX];
    while (file && fgets(line, sizeof(line), file)) {
        struct mount_entry entry;
        if (!read_mount(line, &entry) ||
            strcmp(entry.type, controller[0] ? "cgroup" : "cgroup2") != 0 ||
            (controller[0] && !list_has(entry.options, controller)))
            continue;
        size_t root = strcmp(entry.root, "/") == 0 ? 0 : strlen(entry.root);
        if (strncmp(group, entry.root, root) != 0)
            continue;
        const char *below = strcmp(group + root, "/") == 0 ? "" : group + root;
        return (size_t)snprintf(path, size, "%s%s", entry.place, below) < size;
    }
    return false;
}

/* Is it one that make_base() could have made? Engines and services below the same group have names
 * that begin alike. */
static bool is_base_name(const char *name)
{
    if (strncmp(name, BASE_PREFIX, strlen(BASE_PREFIX)) != 0)
        return false;
    name += strlen(BASE_PREFIX);
    size_t pid = strspn(name, ASCII_DIGITS);
    const char *rest = name + pid;
    return pid > 0 && (*rest == '\0' || (*rest == '.' && rest[1] &&
                                         rest[1 + strspn(rest + 1, ASCII_DIGITS)] == '\0'));
}

/* A descriptor that holds the lock, or -1: another's, or it was removed before it was locked. */
static int lock_directory(const char *path)
{
    struct stat locked, named;
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &locked) < 0 ||
        lstat(path, &named) < 0 || locked.st_ino != named.st_ino || locked.st_dev != named.st_dev)
        return -1;
    return TAKE_FD(fd);
}

static bool remove_base_directory(const char *path)
{
    DIR *directory = opendir(path);
    struct dirent *entry;
    while (directory && (entry = readdir(directory)))
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
            (void)unlinkat(dirfd(directory), entry->d_name, AT_REMOVEDIR);
    if (directory)
        (void)closedir(directory);
    return rmdir(path) == 0;
}

/* A supervisor that was killed could not tidy up; its lock went with it. */
static void sweep_dead_bases(struct cgroup_base *base, const char *parent)
{
    DIR *directory = opendir(parent);
    struct dirent *entry;
    while (directory && (entry = readdir(directory))) {
        char path[PATH_MAX];
        if (!is_base_name(entry->d_name) ||
            (size_t)snprintf(path, sizeof(path), "%s/%s", parent, entry->d_name) >= sizeof(path))
            continue;
        CLEANUP_CLOSE int lock = lock_directory(path);
        if (lock < 0)
            continue;
        if (remove_base_directory(path))
            base->swept++;
        else
            base->unswept++;
    }
    if (directory)
        (void)closedir(directory);
}

static bool name_base(const char *parent, unsigned taken, char *ret, size_t size)
{
    char another[16] = "";
    if (taken > 0)
        (void)snprintf(another, sizeof(another), ".%u", taken);
    return (size_t)snprintf(ret, size, "%s/" BASE_PREFIX "%d%s", parent, (int)getpid(), another) <
           size;
}

/* Makes and locks this supervisor's directory below parent; its path to ret. Its name may be that
 * of a supervisor of another pid namespace, and between making and locking it is anybody's to
 * sweep. */
static bool make_base(struct cgroup_base *base, const char *parent, char *ret, size_t size,
                      int *ret_lock)
{
    sweep_dead_bases(base, parent);
    unsigned taken = 0;
    for (unsigned attempt = 0; attempt < MAX_NAMES && name_base(parent, taken, ret, size);
         attempt++) {
        if (mkdir(ret, 0755) < 0) {
            if (errno != EEXIST)
                break;
            taken++;
            continue;
        }
        *ret_lock = lock_directory(ret);
        if (*ret_lock >= 0)
            return true;
        (void)rmdir(ret);
    }
    ret[0] = '\0';
    return false;
}

static bool find_version1(struct cgroup_base *base)
{
    char own[PATH_MAX];
    if (own_directory("memory", own, sizeof(own)))
        (void)make_base(base, own, base->memory, sizeof(base->memory), &base->memory_lock);
    if (own_directory("pids", own, sizeof(own)))
        (void)make_base(base, own, base->pids, sizeof(base->pids), &base->pids_lock);
    return base->memory[0] || base->pids[0];
}

/* A group whose manager has said that the subtree is the service's (systemd: Delegate=yes), or that
 * belongs to this ordinary user. Root could write everywhere, which is no permission. */
static bool is_delegated(const char *group)
{
    char mark[2] = "";
    if (geteuid() != 0)
        return access(group, W_OK) == 0;
    return (getxattr(group, "trusted.delegate", mark, 1) == 1 && mark[0] == '1') ||
           (getxattr(group, "user.delegate", mark, 1) == 1 && mark[0] == '1');
}

static bool give_controllers_to_children(const char *group)
{
    char enabled[512];
    (void)cgroup_file_write(group, "cgroup.subtree_control", "+memory +pids");
    return cgroup_file_read(group, "cgroup.subtree_control", enabled, sizeof(enabled)) &&
           list_has(enabled, "memory") && list_has(enabled, "pids");
}

/* Only a group without processes of its own can have limited children, and the host's processes are
 * not ours to move: so it is the group above (the host is then in a leaf, as with systemd's
 * DelegateSubgroup=), or the own one where the kernel lets it. */
static bool find_version2(struct cgroup_base *base)
{
    char group[PATH_MAX];
    if (!own_directory("", group, sizeof(group)))
        return false;
    for (int level = 0; level < 2; level++) {
        if (is_delegated(group) && give_controllers_to_children(group) &&
            make_base(base, group, base->memory, sizeof(base->memory), &base->memory_lock)) {
            if (give_controllers_to_children(base->memory)) {
                memcpy(base->pids, base->memory, sizeof(base->pids));
                return true;
            }
            (void)rmdir(base->memory);
            base->memory[0] = '\0';
            close_fd(TAKE_FD(base->memory_lock));
        }
        char *slash = strrchr(group, '/');
        if (!slash || slash == group)
            return false;
        *slash = '\0';
    }
    return false;
}

void cgroup_base_find(struct cgroup_base *ret)
{
    *ret = (struct cgroup_base){.memory_lock = -1, .pids_lock = -1};
    if (find_version2(ret))
        ret->version = 2;
    else if (find_version1(ret))
        ret->version = 1;
}

static void sweep_beside(struct cgroup_base *base, const char *own)
{
    char parent[PATH_MAX];
    const char *slash = strrchr(own, '/');
    if (!slash)
        return;
    memcpy(parent, own, (size_t)(slash - own));
    parent[slash - own] = '\0';
    sweep_dead_bases(base, parent);
}

void cgroup_base_sweep(struct cgroup_base *base)
{
    base->unswept = 0;
    sweep_beside(base, base->memory);
    if (base->version == 1)
        sweep_beside(base, base->pids);
}

void cgroup_base_remove(struct cgroup_base *base)
{
    if (base->memory[0])
        remove_base_directory(base->memory);
    if (base->pids[0] && base->version == 1)
        remove_base_directory(base->pids);
    close_fd(TAKE_FD(base->memory_lock));
    close_fd(TAKE_FD(base->pids_lock));
}
