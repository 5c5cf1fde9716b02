/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what is known of files: see known_files.h. Runs in the first process of a sandbox. */
#include "guest/files/known_files.h"

#include <stdlib.h>

#include "base/cleanup.h"

#define KNOWN_LIMIT 40000 /* twice what one search looks at */
#define TICKS_LIMIT 100   /* of a millisecond; the kernel's are at most ten of them */

/* FNV-1a. Who makes two paths collide hides a file of its own. */
static uint64_t hash_path(const char *path)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; *path; path++)
        hash = (hash ^ (unsigned char)*path) * UINT64_C(1099511628211);
    return hash;
}

static int compare(const void *one, const void *other)
{
    uint64_t left = ((const struct known_file *)one)->path;
    uint64_t right = ((const struct known_file *)other)->path;
    return (left > right) - (left < right);
}

static bool is_later(const struct timespec *one, const struct timespec *other)
{
    return one->tv_sec > other->tv_sec ||
           (one->tv_sec == other->tv_sec && one->tv_nsec > other->tv_nsec);
}

enum known_state known_files_find(const struct known_files *known, const char *path,
                                  const struct stat *status)
{
    const struct known_file key = {.path = hash_path(path)};
    const struct known_file *file =
        known->count > 0 ? bsearch(&key, known->files, known->count, sizeof(key), compare) : NULL;
    if (!file)
        return KNOWN_NOT;
    bool is_same = file->inode == status->st_ino && file->size == status->st_size &&
                   file->changed.tv_sec == status->st_ctim.tv_sec &&
                   file->changed.tv_nsec == status->st_ctim.tv_nsec;
    return is_same ? KNOWN_UNCHANGED : KNOWN_CHANGED;
}

static void add(struct known_files *known, const struct known_file *file)
{
    if (known->count == known->capacity) {
        size_t wanted = known->capacity > 0 ? known->capacity * 2 : 16;
        struct known_file *grown = reallocarray(known->files, wanted, sizeof(*grown));
        if (!grown)
            return;
        known->files = grown;
        known->capacity = wanted;
    }
    known->files[known->count++] = *file;
}

void known_files_add(struct known_files *known, const char *path, const struct stat *status,
                     bool rare)
{
    const struct known_file file = {hash_path(path), status->st_ino, status->st_size,
                                    status->st_ctim, rare};
    add(known, &file);
}

void known_files_inherit(struct known_files *known, const struct known_files *older, bool all)
{
    size_t met = known->count;
    for (size_t i = 0; i < older->count && known->count < KNOWN_LIMIT; i++) {
        const struct known_file *file = &older->files[i];
        if ((all || file->rare) &&
            (met == 0 || !bsearch(file, known->files, met, sizeof(*file), compare)))
            add(known, file);
    }
    known_files_sort(known);
}

void known_files_sort(struct known_files *known)
{
    if (known->count > 0)
        qsort(known->files, known->count, sizeof(*known->files), compare);
}

void known_files_await_tick(const struct known_files *known)
{
    struct timespec last = {.tv_sec = 0};
    struct timespec now;
    const struct timespec pause = {.tv_nsec = 1000000};
    for (size_t i = 0; i < known->count; i++)
        if (is_later(&known->files[i].changed, &last))
            last = known->files[i].changed;
    for (int i = 0; i < TICKS_LIMIT; i++) {
        if (clock_gettime(CLOCK_REALTIME_COARSE, &now) < 0 || is_later(&now, &last))
            return;
        (void)nanosleep(&pause, NULL);
    }
}

void known_files_clear(struct known_files *known)
{
    free(TAKE_POINTER(known->files));
    *known = (struct known_files){.count = 0};
}
