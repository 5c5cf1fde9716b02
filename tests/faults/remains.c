/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for what is left of runs: see remains.h. */
#include "remains.h"

#include <dirent.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

bool has_children(pid_t supervisor)
{
    char path[64];
    int child;
    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)supervisor,
                   (int)supervisor);
    FILE *file = fopen(path, "re");
    bool found = file && fscanf(file, "%d", &child) == 1;
    if (file)
        (void)fclose(file);
    return found;
}

static size_t count_directories(const char *path)
{
    DIR *directory = opendir(path);
    struct dirent *entry;
    size_t found = 0;
    while (directory && (entry = readdir(directory)))
        found += entry->d_type == DT_DIR && entry->d_name[0] != '.';
    if (directory)
        (void)closedir(directory);
    return found;
}

bool is_empty(const char *directory)
{
    DIR *opened = directory[0] ? opendir(directory) : NULL;
    struct dirent *entry;
    size_t found = 0;
    while (opened && (entry = readdir(opened)))
        found += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    if (opened)
        (void)closedir(opened);
    return found == 0;
}

/* It holds a lock on each of its directories among the control groups. Their names would not do: a
 * supervisor in another pid namespace may have the same number. */
static bool is_base(const char *path)
{
    const char *name = strrchr(path, '/');
    return strncmp(path, "/sys/fs/cgroup/", strlen("/sys/fs/cgroup/")) == 0 &&
           strncmp(name, "/code-execute-", strlen("/code-execute-")) == 0;
}

bool has_groups_of_runs(pid_t supervisor)
{
    char place[64];
    size_t groups = 0;
    (void)snprintf(place, sizeof(place), "/proc/%d/fd", (int)supervisor);
    DIR *descriptors = opendir(place);
    struct dirent *entry;
    while (descriptors && (entry = readdir(descriptors))) {
        char path[PATH_MAX];
        ssize_t length = readlinkat(dirfd(descriptors), entry->d_name, path, sizeof(path) - 1);
        if (length <= 0)
            continue;
        path[length] = '\0';
        if (!is_base(path))
            continue;
        groups += count_directories(path);
    }
    if (descriptors)
        (void)closedir(descriptors);
    return groups != 0;
}

void keep_mounts_apart(void)
{
    if (unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        abort();
}

void hide_control_groups(void)
{
    if (mount("none", "/sys/fs/cgroup", "tmpfs", 0, NULL) != 0)
        abort();
}

size_t count_mounts(void)
{
    FILE *file = fopen("/proc/self/mountinfo", "re");
    size_t lines = 0;
    for (int byte; file && (byte = fgetc(file)) != EOF;)
        lines += byte == '\n';
    if (file)
        (void)fclose(file);
    return lines;
}

bool mounts_are_left(size_t *before)
{
    size_t now = count_mounts();
    bool more = now > *before;
    if (now < *before)
        *before = now;
    return more;
}
