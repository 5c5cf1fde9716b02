/* SPDX-License-Identifier: Apache-2.0 */
/* Makes inventories: see inventory.h. */
#include "environments/inventory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define CHUNK_BYTES 65536

static bool fail(struct error *error, const char *sentence)
{
    (void)error_set(error, ERROR_INTERNAL, "%s", sentence);
    return false;
}

static bool fail_errno(struct error *error, const char *sentence)
{
    (void)error_set_errno(error, ERROR_INTERNAL, errno, "%s", sentence);
    return false;
}

static bool fail_memory(struct error *error)
{
    (void)error_set(error, ERROR_OUT_OF_MEMORY, "out of memory for the inventory");
    return false;
}

static bool hash_content(int file, uint64_t size, struct sha256 *hash, struct error *error)
{
    unsigned char bytes[CHUNK_BYTES];
    uint64_t done = 0;
    for (;;) {
        ssize_t count = read(file, bytes, sizeof(bytes));
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return fail_errno(error, "the file cannot be read");
        if (count == 0)
            return done == size || fail(error, "the file changed while it was read");
        done += (uint64_t)count;
        if (done > size)
            return fail(error, "the file changed while it was read");
        sha256_add(hash, bytes, (size_t)count);
    }
}

static bool hash_file(const struct tree_entry *entry, char ret[SHA256_TEXT_LENGTH + 1],
                      struct error *error)
{
    struct stat status;
    struct sha256 hash;
    CLEANUP_CLOSE int file = openat(entry->directory, entry->name,
                                    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file < 0 || fstat(file, &status) < 0)
        return fail_errno(error, "the file cannot be read");
    if (status.st_ino != entry->status->st_ino || status.st_dev != entry->status->st_dev)
        return fail(error, "the file was replaced while it was read");
    sha256_begin(&hash);
    if (!hash_content(file, (uint64_t)entry->status->st_size, &hash, error))
        return false;
    sha256_end(&hash, ret);
    return true;
}

bool inventory_link_stays(const char *path, const char *target)
{
    unsigned depth = 0;
    for (; *path; path++)
        depth += *path == '/';
    if (target[0] == '/' || target[0] == '\0')
        return false;
    while (*target) {
        size_t length = strcspn(target, "/");
        bool is_up = length == 2 && target[0] == '.' && target[1] == '.';
        bool is_here = length == 0 || (length == 1 && target[0] == '.');
        if (is_up && depth == 0)
            return false;
        if (is_up)
            depth--;
        else if (!is_here)
            depth++;
        target += length;
        target += *target == '/';
    }
    return true;
}

static void write_piece(void *user, const char *bytes, size_t length)
{
    FILE *text = user;
    (void)fwrite(bytes, 1, length, text);
}

/* What could not be written is seen when the stream is closed. */
static bool add_line(FILE *text, const struct inventory_entry *entry)
{
    inventory_write_line(entry, write_piece, text);
    return true;
}

static bool add_link(FILE *text, const struct tree_entry *entry, struct error *error)
{
    char target[TREE_PATH_LIMIT + 1];
    ssize_t length = readlinkat(entry->directory, entry->name, target, sizeof(target));
    if (length < 0)
        return fail_errno(error, "the link cannot be read");
    if (length > TREE_PATH_LIMIT)
        return fail(error, "the link's target is longer than allowed");
    target[length] = '\0';
    if (!tree_text_is_plain(target))
        return fail(error, "the link's target has control characters, or is not UTF-8");
    if (!inventory_link_stays(entry->path, target))
        return fail(error, "the link leads out of the directory of packages");
    return add_line(
        text, &(struct inventory_entry){.mode = S_IFLNK, .path = entry->path, .target = target});
}

static bool add_file(FILE *text, const struct tree_entry *entry, struct error *error)
{
    char sha256[SHA256_TEXT_LENGTH + 1];
    mode_t mode = entry->status->st_mode & 07777;
    if (mode != 0444 && mode != 0555)
        return fail(error, "the file has another mode than 0444 and 0555");
    if (!hash_file(entry, sha256, error))
        return false;
    return add_line(text, &(struct inventory_entry){.mode = S_IFREG | mode,
                                                    .path = entry->path,
                                                    .size = (uint64_t)entry->status->st_size,
                                                    .sha256 = sha256});
}

static bool add_directory(FILE *text, const struct tree_entry *entry, struct error *error)
{
    if ((entry->status->st_mode & 07777) != 0555)
        return fail(error, "the directory has another mode than 0555");
    return add_line(text, &(struct inventory_entry){.mode = S_IFDIR, .path = entry->path});
}

static bool add_entry(void *user, const struct tree_entry *entry, struct error *error)
{
    FILE *text = user;
    if (S_ISDIR(entry->status->st_mode))
        return add_directory(text, entry, error);
    return S_ISLNK(entry->status->st_mode) ? add_link(text, entry, error)
                                           : add_file(text, entry, error);
}

bool inventory_make(int directory, const struct tree_limits *limits, struct inventory *inventory,
                    struct error *error)
{
    CLEANUP_FREE char *text = NULL; /* outlives the stream, which writes to it when it closes */
    size_t length = 0;
    CLEANUP_FILE FILE *stream = open_memstream(&text, &length);
    if (!stream)
        return fail_memory(error);
    struct tree_walk walk = {.limits = limits, .visit = add_entry, .user = stream};
    if (!tree_walk_run(directory, &walk, error)) {
        memcpy(inventory->place, walk.path, sizeof(walk.path));
        return false;
    }
    bool whole = !ferror(stream);
    if (fclose(TAKE_POINTER(stream)) != 0 || !whole || !text)
        return fail_memory(error);
    struct sha256 hash;
    sha256_begin(&hash);
    sha256_add(&hash, text, length);
    sha256_end(&hash, inventory->sha256);
    inventory->text = TAKE_POINTER(text);
    inventory->length = length;
    inventory->totals = walk.totals;
    return true;
}

void inventory_clear(struct inventory *inventory)
{
    free(inventory->text);
    inventory->text = NULL;
    inventory->length = 0;
}
