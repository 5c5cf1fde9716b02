/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the walk through a tree of processes: see process_stat.h. */
#include "base/process_stat.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define PATH_SIZE     64
#define CHILDREN_SIZE 16384 /* bytes of a list of pids */

struct walk {
    struct {
        pid_t pid;
        pid_t parent; /* else the number is another process's by now */
    } found[PROCESS_TREE_MOST];
    size_t count;
    bool is_over;
    process_tree_visit *visit;
    void *user;
};

static bool read_file(const char *path, char *ret, size_t size)
{
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, ret, size - 1);
    if (length < 0)
        return false;
    ret[length] = '\0';
    return true;
}

/* Each thread has its own children. */
static bool add_children_of_thread(struct walk *walk, pid_t pid, const char *thread)
{
    char path[PATH_SIZE];
    char list[CHILDREN_SIZE];
    char *rest;
    if ((size_t)snprintf(path, sizeof(path), "/proc/%d/task/%s/children", (int)pid, thread) >=
            sizeof(path) ||
        !read_file(path, list, sizeof(list)))
        return false;
    for (char *word = strtok_r(list, " \n", &rest); word && walk->count < COUNT_OF(walk->found);
         word = strtok_r(NULL, " \n", &rest)) {
        walk->found[walk->count].pid = (pid_t)strtol(word, NULL, 10);
        walk->found[walk->count++].parent = pid;
    }
    return true;
}

static void close_directory(DIR **directory)
{
    if (*directory)
        (void)closedir(*directory);
}

static bool add_children(struct walk *walk, pid_t pid, unsigned threads)
{
    char path[PATH_SIZE];
    (void)snprintf(path, sizeof(path), "%d", (int)pid);
    if (threads == 1)
        return add_children_of_thread(walk, pid, path);
    (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    CLEANUP(close_directory) DIR *directory = opendir(path);
    if (!directory)
        return false;
    for (const struct dirent *entry; (entry = readdir(directory));)
        if (entry->d_name[0] != '.')
            (void)add_children_of_thread(walk, pid, entry->d_name);
    return true;
}

/* The first one has any parent. */
static bool add_process(struct walk *walk, size_t index)
{
    char path[PATH_SIZE];
    struct process_stat stat;
    pid_t pid = walk->found[index].pid;
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    if (!process_stat_read(AT_FDCWD, path, &stat) ||
        (index > 0 && stat.parent != walk->found[index].parent))
        return false;
    walk->is_over = !walk->visit(pid, &stat, walk->user);
    return add_children(walk, pid, stat.threads);
}

bool process_tree_walk(pid_t first, process_tree_visit *visit, void *user)
{
    struct walk walk = {.count = 1, .visit = visit, .user = user};
    walk.found[0].pid = first;
    if (!add_process(&walk, 0))
        return false;
    for (size_t i = 1; i < walk.count && !walk.is_over; i++)
        (void)add_process(&walk, i); /* one that has ended meanwhile is its parent's */
    return true;
}
