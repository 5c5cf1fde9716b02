/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the reading of an archive: see archive_input.h. */
#include "backends/environment/archive_input.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "environments/inventory.h"

#define BLOCK_BYTES 65536
/* Two blocks of zeros end an archive. Writers pad the file with more of them. */
#define END_BYTES      1024
#define PADDING_BYTES  (UINT64_C(1) << 20)
#define NAME_BYTES     255
#define NEWEST_SECONDS INT64_C(0xffffffff)

struct archive_input {
    struct archive *archive;
    int fd;        /* borrowed */
    uint64_t done; /* bytes of the file that is read */
};

static bool fail(struct error *error, const char *sentence)
{
    (void)error_set(error, ERROR_INTERNAL, "%s", sentence);
    return false;
}

static bool fail_archive(struct archive_input *input, const char *sentence, struct error *error)
{
    const char *reason = archive_error_string(input->archive);
    (void)error_set(error, ERROR_INTERNAL, "%s: %s", sentence, reason ? reason : "no reason");
    return false;
}

struct archive_input *archive_input_open(int fd, struct error *error)
{
    struct stat status;
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || lseek(fd, 0, SEEK_SET) != 0) {
        (void)fail(error, "the archive is no regular file");
        return NULL;
    }
    struct archive_input *input = calloc(1, sizeof(*input));
    if (input)
        *input = (struct archive_input){.archive = archive_read_new(), .fd = fd};
    if (!input || !input->archive) {
        archive_input_close(input);
        (void)error_set(error, ERROR_OUT_OF_MEMORY, "out of memory for reading the archive");
        return NULL;
    }
    /* No filter: what is compressed is not recognised, and cannot grow. */
    if (archive_read_support_format_tar(input->archive) == ARCHIVE_OK &&
        archive_read_open_fd(input->archive, fd, BLOCK_BYTES) == ARCHIVE_OK)
        return input;
    (void)fail_archive(input, "the archive is not a well-formed tar archive", error);
    archive_input_close(input);
    return NULL;
}

void archive_input_close(struct archive_input *input)
{
    if (!input)
        return;
    if (input->archive)
        (void)archive_read_free(input->archive);
    free(input);
}

/* Only zeros from where the last header was looked for: so nothing is missing, and nothing of the
 * file is not read. */
static bool check_end(struct archive_input *input, struct error *error)
{
    struct stat status;
    unsigned char bytes[4096];
    int64_t place = archive_read_header_position(input->archive);
    if (fstat(input->fd, &status) < 0 || place < 0)
        return fail(error, "the end of the archive cannot be read");
    if (status.st_size - place < END_BYTES)
        return fail(error, "the archive ends before its end mark");
    if ((uint64_t)(status.st_size - place) > PADDING_BYTES)
        return fail(error, "the archive goes on behind its end mark");
    while (place < status.st_size) {
        ssize_t count = pread(input->fd, bytes, sizeof(bytes), place);
        if (count <= 0)
            return fail(error, "the end of the archive cannot be read");
        for (ssize_t i = 0; i < count; i++)
            if (bytes[i] != 0)
                return fail(error, "the archive goes on behind its end mark");
        place += count;
    }
    return true;
}

/* Leaves "a/b" of "./a/b/", and "" of "./". NULL, or what is wrong with it. */
static const char *settle_path(char *path, bool is_directory)
{
    if (path[0] == '/')
        return "the path is absolute";
    size_t length = strlen(path);
    while (is_directory && length > 0 && path[length - 1] == '/')
        path[--length] = '\0';
    if (strncmp(path, "./", 2) == 0)
        memmove(path, path + 2, length - 1);
    if (strcmp(path, ".") == 0)
        path[0] = '\0';
    if (path[0] == '\0')
        return is_directory ? NULL : "the path is empty";
    if (!tree_text_is_plain(path))
        return "the path has control characters, or is not UTF-8";
    unsigned depth = 0;
    for (const char *part = path;; part++) {
        size_t size = strcspn(part, "/");
        if (size == 0 || (size <= 2 && strncmp(part, "..", size) == 0))
            return "the path has an empty part, or one that is . or ..";
        if (size > NAME_BYTES)
            return "the path has a part of more than 255 bytes";
        if (++depth > TREE_DEPTH_LIMIT)
            return "the path has more parts than allowed";
        part += size;
        if (*part == '\0')
            return NULL;
    }
}

/* NULL, or why it is none that is taken. */
static const char *settle_kind(struct archive_entry *entry, struct archive_item *item)
{
    item->kind = ITEM_HARD_LINK;
    if (archive_entry_hardlink(entry))
        return NULL;
    switch (archive_entry_filetype(entry)) {
    case AE_IFREG:
        item->kind = ITEM_FILE;
        return NULL;
    case AE_IFDIR:
        item->kind = ITEM_DIRECTORY;
        return NULL;
    case AE_IFLNK:
        item->kind = ITEM_LINK;
        return NULL;
    default:
        return "the entry is neither file, directory nor link";
    }
}

static const char *settle_target(struct archive_entry *entry, struct archive_item *item)
{
    bool is_hard = item->kind == ITEM_HARD_LINK;
    const char *target = is_hard ? archive_entry_hardlink(entry) : archive_entry_symlink(entry);
    if (!target || strlen(target) > TREE_PATH_LIMIT)
        return "the link has no target, or one that is longer than allowed";
    (void)stpcpy(item->target, target);
    if (is_hard)
        return settle_path(item->target, false) ? "the hard link has no target that is allowed"
                                                : NULL;
    if (!tree_text_is_plain(target))
        return "the link's target has control characters, or is not UTF-8";
    return inventory_link_stays(item->path, target)
               ? NULL
               : "the link leads out of the directory of packages";
}

static const char *settle_size(struct archive_entry *entry, struct archive_item *item)
{
    int64_t size = archive_entry_size_is_set(entry) ? archive_entry_size(entry) : 0;
    if (size < 0 || (item->kind != ITEM_FILE && size != 0))
        return "the size is not one of such an entry";
    if (item->kind == ITEM_FILE && archive_entry_sparse_count(entry) > 0)
        return "the file has holes";
    item->size = (uint64_t)size;
    return NULL;
}

static int64_t time_of(struct archive_entry *entry)
{
    int64_t seconds = archive_entry_mtime_is_set(entry) ? archive_entry_mtime(entry) : 0;
    if (seconds < 0)
        return 0;
    return seconds > NEWEST_SECONDS ? NEWEST_SECONDS : seconds;
}

/* NULL, or why the entry is refused. */
static const char *settle_item(struct archive_entry *entry, struct archive_item *item)
{
    const char *path = archive_entry_pathname(entry);
    if (!path)
        return "the path is not UTF-8";
    size_t length = strnlen(path, TREE_PATH_LIMIT + 1);
    memcpy(item->path, path, length > TREE_PATH_LIMIT ? TREE_PATH_LIMIT : length);
    if (length > TREE_PATH_LIMIT)
        return "the path is longer than allowed";
    const char *refusal = settle_kind(entry, item);
    if (!refusal)
        refusal = settle_path(item->path, item->kind == ITEM_DIRECTORY);
    if (!refusal && (item->kind == ITEM_LINK || item->kind == ITEM_HARD_LINK))
        refusal = settle_target(entry, item);
    if (!refusal)
        refusal = settle_size(entry, item);
    item->is_executable = (archive_entry_mode(entry) & 0111) != 0;
    item->time = time_of(entry);
    return refusal;
}

/* In a locale of UTF-8, libarchive would compose the letters of pax headers (Unicode's form C), and
 * a file would get another name than its package knows. In the C locale, which this program has, it
 * gives a name that is not ASCII as it is, and says that it could not convert it. */
static bool is_as_it_is(struct archive_input *input, int result)
{
    const char *warning = archive_error_string(input->archive);
    return result == ARCHIVE_OK ||
           (result == ARCHIVE_WARN && warning && strstr(warning, "can't be converted from UTF-8"));
}

enum archive_step archive_input_next(struct archive_input *input, struct archive_item *item,
                                     struct error *error)
{
    struct archive_entry *entry = NULL;
    *item = (struct archive_item){.kind = ITEM_FILE};
    input->done = 0;
    int result = archive_read_next_header(input->archive, &entry);
    if (result == ARCHIVE_EOF)
        return check_end(input, error) ? ARCHIVE_STEP_END : ARCHIVE_STEP_FAILED;
    if (!is_as_it_is(input, result)) {
        (void)fail_archive(input, "the archive is not a well-formed tar archive", error);
        return ARCHIVE_STEP_FAILED;
    }
    const char *refusal = settle_item(entry, item);
    if (refusal)
        (void)fail(error, refusal);
    return refusal ? ARCHIVE_STEP_FAILED : ARCHIVE_STEP_ITEM;
}

int64_t archive_input_read(struct archive_input *input, const struct archive_item *item,
                           const void **ret_bytes, struct error *error)
{
    const void *bytes = NULL;
    size_t size = 0;
    la_int64_t offset = 0;
    int result;
    do
        result = archive_read_data_block(input->archive, &bytes, &size, &offset);
    while (result == ARCHIVE_OK && size == 0);
    if (result != ARCHIVE_OK && result != ARCHIVE_EOF)
        return fail_archive(input, "the file's content cannot be read", error) ? 0 : -1;
    if (result == ARCHIVE_EOF)
        return input->done == item->size || fail(error, "the file has holes") ? 0 : -1;
    if (offset < 0 || (uint64_t)offset != input->done || size > item->size - input->done)
        return fail(error, "the file has holes") ? 0 : -1;
    input->done += size;
    *ret_bytes = bytes;
    return (int64_t)size;
}
