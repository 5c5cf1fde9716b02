/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the walk: see tree_walk.h. Holds one descriptor and the names of one directory a level. */
#include "environments/tree_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/utf8.h"

#define BUFFER_BYTES 8192

/* As getdents64(2) fills it. */
struct record {
    uint64_t inode;
    int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[];
};

/* The names of one directory. */
struct listing {
    char *bytes; /* one behind the other, each with its NUL */
    size_t length;
    size_t capacity;
    char **names;
    size_t count;
};

static void listing_clear(struct listing *listing)
{
    free(listing->bytes);
    free((void *)listing->names);
}

static bool fail(struct error *error, const char *sentence)
{
    (void)error_set(error, ERROR_INTERNAL, "%s", sentence);
    return false;
}

static bool fail_errno(struct error *error, const char *sentence)
{
    (void)error_set_errno(error, errno == ENOMEM ? ERROR_OUT_OF_MEMORY : ERROR_INTERNAL, errno,
                          "%s", sentence);
    return false;
}

static bool fail_memory(struct error *error)
{
    (void)error_set(error, ERROR_OUT_OF_MEMORY, "out of memory for a list of names");
    return false;
}

bool tree_text_is_plain(const char *text)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t left = strlen(text);
    while (left > 0) {
        size_t length = utf8_sequence(bytes, left);
        if (length == 0 || *bytes < 0x20 || *bytes == 0x7f ||
            (length == 2 && bytes[0] == 0xc2 && bytes[1] < 0xa0))
            return false;
        bytes += length;
        left -= length;
    }
    return true;
}

static bool add_name(struct listing *listing, const char *name)
{
    size_t size = strlen(name) + 1;
    if (listing->capacity - listing->length < size) {
        size_t wanted = listing->capacity * 2 + size + 1024;
        char *grown = realloc(listing->bytes, wanted);
        if (!grown)
            return false;
        listing->bytes = grown;
        listing->capacity = wanted;
    }
    memcpy(listing->bytes + listing->length, name, size);
    listing->length += size;
    listing->count++;
    return true;
}

static bool add_names(struct tree_walk *walk, struct listing *listing, const char *buffer,
                      size_t length, struct error *error)
{
    for (size_t offset = 0; offset < length;) {
        const struct record *record = (const struct record *)(const void *)&buffer[offset];
        offset += record->length;
        if (strcmp(record->name, ".") == 0 || strcmp(record->name, "..") == 0)
            continue;
        if (++walk->totals.inodes > walk->limits->inodes)
            return fail(error, "there are more files and directories than allowed");
        if (!add_name(listing, record->name))
            return fail_memory(error);
    }
    return true;
}

static int compare_names(const void *one, const void *other)
{
    return strcmp(*(char *const *)one, *(char *const *)other);
}

static bool sort_names(struct listing *listing, struct error *error)
{
    listing->names = (char **)calloc(listing->count + 1, sizeof(char *));
    if (!listing->names)
        return fail_memory(error);
    char *next = listing->bytes;
    for (size_t i = 0; i < listing->count; i++, next += strlen(next) + 1)
        listing->names[i] = next;
    if (listing->count > 1)
        qsort((void *)listing->names, listing->count, sizeof(char *), compare_names);
    return true;
}

/* Not inlined: the walk is recursive, and a host's stack may be short. */
__attribute__((noinline)) static bool list_directory(struct tree_walk *walk, int directory,
                                                     struct listing *listing, struct error *error)
{
    _Alignas(struct record) char buffer[BUFFER_BYTES];
    for (;;) {
        long length = syscall(SYS_getdents64, directory, buffer, sizeof(buffer));
        if (length < 0)
            return fail_errno(error, "the directory cannot be read");
        if (length == 0)
            return sort_names(listing, error);
        if (!add_names(walk, listing, buffer, (size_t)length, error))
            return false;
    }
}

/* Puts the name behind the path. */
static bool enter_name(struct tree_walk *walk, const char *name, struct error *error)
{
    size_t length = strlen(name);
    size_t before = walk->length;
    size_t slash = before > 0;
    if (before + slash + length > TREE_PATH_LIMIT)
        return fail(error, "a path in the directory is longer than allowed");
    if (slash)
        walk->path[before] = '/';
    memcpy(walk->path + before + slash, name, length + 1);
    walk->length = before + slash + length;
    return true;
}

static void leave_name(struct tree_walk *walk, size_t before)
{
    walk->path[before] = '\0';
    walk->length = before;
}

static bool count_file(struct tree_walk *walk, const struct stat *status, struct error *error)
{
    uint64_t size = (uint64_t)status->st_size;
    if (size > walk->limits->bytes - walk->totals.bytes)
        return fail(error, "all files together have more bytes than allowed");
    walk->totals.bytes += size;
    walk->totals.files++;
    return true;
}

static bool check_entry(struct tree_walk *walk, const struct tree_entry *entry, struct error *error)
{
    const struct stat *status = entry->status;
    if (!tree_text_is_plain(entry->name))
        return fail(error, "the name has control characters, or is not UTF-8");
    if (status->st_dev != walk->device)
        return fail(error, "it is on another file system");
    if (status->st_uid != walk->owner)
        return fail(error, "it belongs to another user than the directory of packages");
    if (S_ISREG(status->st_mode))
        return count_file(walk, status, error);
    if (!S_ISDIR(status->st_mode) && !S_ISLNK(status->st_mode))
        return fail(error, "it is neither file, directory nor symbolic link");
    return true;
}

static bool walk_directory(struct tree_walk *walk, int parent, const char *name,
                           const struct stat *expected, struct error *error);

static bool walk_entry(struct tree_walk *walk, int directory, const char *name, struct error *error)
{
    struct stat status;
    const struct tree_entry entry = {walk->path, name, directory, &status};
    if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
        return fail_errno(error, "it cannot be read");
    if (!check_entry(walk, &entry, error) || !walk->visit(walk->user, &entry, error))
        return false;
    return !S_ISDIR(status.st_mode) || walk_directory(walk, directory, name, &status, error);
}

static bool walk_entries(struct tree_walk *walk, int directory, struct error *error)
{
    CLEANUP(listing_clear) struct listing listing = {0};
    if (!list_directory(walk, directory, &listing, error))
        return false;
    if (listing.count > 0 && walk->depth == TREE_DEPTH_LIMIT)
        return fail(error, "there are more directories in each other than allowed");
    walk->depth++;
    for (size_t i = 0; i < listing.count; i++) {
        size_t before = walk->length;
        if (!enter_name(walk, listing.names[i], error) ||
            !walk_entry(walk, directory, listing.names[i], error))
            return false;
        leave_name(walk, before);
    }
    walk->depth--;
    return true;
}

static bool walk_directory(struct tree_walk *walk, int parent, const char *name,
                           const struct stat *expected, struct error *error)
{
    struct stat status;
    CLEANUP_CLOSE int directory =
        openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory < 0 || fstat(directory, &status) < 0)
        return fail_errno(error, "the directory cannot be read");
    if (status.st_ino != expected->st_ino || status.st_dev != expected->st_dev)
        return fail(error, "it was replaced while it was read");
    return walk_entries(walk, directory, error);
}

bool tree_walk_run(int top, struct tree_walk *walk, struct error *error)
{
    struct stat status;
    const struct tree_entry entry = {walk->path, ".", top, &status};
    walk->totals = (struct tree_totals){0};
    walk->depth = 0;
    leave_name(walk, 0);
    if (fstat(top, &status) < 0)
        return fail_errno(error, "the directory of packages cannot be read");
    if (!S_ISDIR(status.st_mode))
        return fail(error, "it is no directory");
    walk->device = status.st_dev;
    walk->owner = status.st_uid;
    return walk->visit(walk->user, &entry, error) && walk_directory(walk, top, ".", &status, error);
}
