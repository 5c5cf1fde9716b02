/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the walk and the look at whole directories: see trusted_path.h. */
#include "backends/process/supervisor/fork_server/trusted_path.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path_form.h"

#define LINKS_LIMIT 40 /* as many symbolic links as the kernel follows */

struct walk {
    char rest[PATH_MAX]; /* the rest of the walk */
    char *done;          /* where the walk is, PATH_MAX bytes; "" is the root directory */
    size_t links;
};

static bool is_ours(const struct stat *status)
{
    return status->st_uid == 0 || status->st_uid == geteuid();
}

static bool others_may_write(const struct stat *status)
{
    return !S_ISLNK(status->st_mode) && (status->st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

/* The first name of the rest; false at its end. */
static bool next_name(struct walk *walk, char name[NAME_MAX + 1], bool *ret_too_long)
{
    const char *begin = walk->rest + strspn(walk->rest, "/");
    size_t length = strcspn(begin, "/");
    *ret_too_long = length > NAME_MAX;
    if (length == 0 || *ret_too_long)
        return false;
    memcpy(name, begin, length);
    name[length] = '\0';
    memmove(walk->rest, begin + length, strlen(begin + length) + 1);
    return true;
}

static void go_up(struct walk *walk)
{
    char *slash = strrchr(walk->done, '/');
    if (slash)
        *slash = '\0';
}

/* Puts the link's target before the rest. */
static bool follow_link(struct walk *walk)
{
    char target[PATH_MAX];
    ssize_t length = readlink(walk->done, target, sizeof(target));
    size_t left = strlen(walk->rest);
    if (length <= 0 || (size_t)length + left >= sizeof(walk->rest) || ++walk->links > LINKS_LIMIT)
        return false;
    memmove(walk->rest + length, walk->rest, left + 1);
    memcpy(walk->rest, target, (size_t)length);
    if (target[0] == '/')
        walk->done[0] = '\0';
    else
        go_up(walk);
    return true;
}

static enum trusted_outcome walk_name(struct walk *walk, const char *name)
{
    struct stat status;
    size_t used = strlen(walk->done);
    if (strcmp(name, ".") == 0)
        return TRUSTED_PATH;
    if (strcmp(name, "..") == 0) {
        go_up(walk);
        return TRUSTED_PATH;
    }
    if (used + strlen(name) + 2 > PATH_MAX)
        return DISTRUSTED_PATH;
    walk->done[used] = '/';
    memcpy(&walk->done[used + 1], name, strlen(name) + 1);
    if (lstat(walk->done, &status) < 0)
        return errno == ENOENT || errno == ENOTDIR ? TRUSTED_ABSENCE : DISTRUSTED_PATH;
    if (!is_ours(&status))
        return DISTRUSTED_PATH;
    if (S_ISLNK(status.st_mode))
        return follow_link(walk) ? TRUSTED_PATH : DISTRUSTED_PATH;
    bool is_sticky = S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0;
    return others_may_write(&status) && !is_sticky ? DISTRUSTED_PATH : TRUSTED_PATH;
}

/* Nothing is there yet: the users that may write to the directory may create it. */
static enum trusted_outcome judge_absence(struct walk *walk)
{
    struct stat status;
    go_up(walk);
    if (lstat(walk->done[0] ? walk->done : "/", &status) < 0 || others_may_write(&status))
        return DISTRUSTED_PATH;
    return TRUSTED_ABSENCE;
}

enum trusted_outcome trusted_path_walk(const char *path, char ret[PATH_MAX])
{
    struct walk walk = {.done = ret};
    char name[NAME_MAX + 1];
    bool too_long = false;
    struct stat root;
    ret[0] = '\0';
    if (path[0] != '/' || strlen(path) >= sizeof(walk.rest) || lstat("/", &root) < 0 ||
        !is_ours(&root) || others_may_write(&root))
        return DISTRUSTED_PATH;
    memcpy(walk.rest, path, strlen(path) + 1);
    while (next_name(&walk, name, &too_long)) {
        enum trusted_outcome outcome = walk_name(&walk, name);
        if (outcome == TRUSTED_ABSENCE)
            return judge_absence(&walk);
        if (outcome != TRUSTED_PATH)
            return outcome;
    }
    if (ret[0] == '\0')
        memcpy(ret, "/", sizeof("/"));
    return too_long ? DISTRUSTED_PATH : TRUSTED_PATH;
}

void trusted_roots_distrust(struct trusted_roots *roots, const char *path)
{
    if (roots->distrusted[0] == '\0')
        (void)snprintf(roots->distrusted, sizeof(roots->distrusted), "%s", path);
}

bool trusted_roots_add(struct trusted_roots *roots, const char *path)
{
    char resolved[PATH_MAX];
    enum trusted_outcome outcome = trusted_path_walk(path, resolved);
    if (outcome == DISTRUSTED_PATH)
        trusted_roots_distrust(roots, resolved[0] != '\0' ? resolved : path);
    if (outcome != TRUSTED_PATH)
        return outcome == TRUSTED_ABSENCE;
    for (size_t i = 0; i < roots->count; i++)
        if (path_is_within(resolved, roots->paths[i]))
            return true;
    if (roots->count == TRUSTED_ROOTS_LIMIT)
        return false;
    roots->paths[roots->count] = strdup(resolved);
    return roots->paths[roots->count++] != NULL;
}

/* name: where in the path the file's name begins. */
static bool is_of_site_directory(const char *path, size_t name)
{
    static const char *const names[] = {"/dist-packages/", "/site-packages/"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        size_t length = strlen(names[i]);
        if (name >= length && strncmp(&path[name - length], names[i], length) == 0)
            return true;
    }
    return false;
}

/* A line of a file of paths is a directory, as a rule relative to the file's, or a statement: that
 * is code like any other of the trusted file. */
static bool add_line(struct trusted_roots *roots, const char *directory, int directory_length,
                     char *line)
{
    char path[2 * PATH_MAX];
    line[strcspn(line, "\r\n")] = '\0';
    for (size_t length = strlen(line); length > 0 && strchr(" \t\f\v", line[length - 1]);)
        line[--length] = '\0';
    if (line[0] == '\0' || line[0] == '#' || strncmp(line, "import ", 7) == 0 ||
        strncmp(line, "import\t", 7) == 0)
        return true;
    int length = line[0] == '/'
                     ? snprintf(path, sizeof(path), "%s", line)
                     : snprintf(path, sizeof(path), "%.*s%s", directory_length, directory, line);
    return length > 0 && (size_t)length < sizeof(path) && trusted_roots_add(roots, path);
}

static bool add_named_paths(struct trusted_roots *roots, const char *path, size_t name)
{
    CLEANUP_FILE FILE *file = fopen(path, "re");
    CLEANUP_FREE char *line = NULL;
    size_t size = 0;
    if (!file)
        return false;
    while (getline(&line, &size, file) > 0)
        if (!add_line(roots, path, (int)name, line))
            return false;
    return !ferror(file);
}

static bool check_entry(struct trusted_roots *roots, const FTSENT *entry)
{
    const char *ending = strrchr(entry->fts_name, '.');
    size_t name = entry->fts_pathlen - entry->fts_namelen;
    if (entry->fts_info == FTS_DP)
        return true;
    if (entry->fts_info == FTS_NS || entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR ||
        !is_ours(entry->fts_statp) || others_may_write(entry->fts_statp))
        return false;
    if (S_ISLNK(entry->fts_statp->st_mode) && !trusted_roots_add(roots, entry->fts_path))
        return false;
    return !ending || strcmp(ending, ".pth") != 0 || entry->fts_info == FTS_D ||
           !is_of_site_directory(entry->fts_path, name) ||
           add_named_paths(roots, entry->fts_path, name);
}

static void close_tree(FTS **tree)
{
    if (*tree)
        (void)fts_close(*tree);
}

static bool check_tree(struct trusted_roots *roots, char *root, size_t *entries)
{
    char *const starts[] = {root, NULL};
    CLEANUP(close_tree) FTS *tree = fts_open(starts, FTS_PHYSICAL, NULL);
    FTSENT *entry;
    if (!tree)
        return false;
    errno = 0;
    while ((entry = fts_read(tree)))
        if (++*entries > TRUSTED_ENTRIES_LIMIT || !check_entry(roots, entry)) {
            trusted_roots_distrust(roots, entry->fts_path);
            return false;
        }
    return errno == 0;
}

bool trusted_roots_check(struct trusted_roots *roots)
{
    size_t entries = 0;
    for (size_t i = 0; i < roots->count; i++) /* their number may grow meanwhile */
        if (!check_tree(roots, roots->paths[i], &entries))
            return false;
    return true;
}
