/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the archive: see package_archive.h. The list of entries comes first, so that a read can
 * stop anywhere; files are opened one at a time, by paths that follow no link. */
#include "backends/docker/image/package_archive.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backends/docker/image/tar_header.h"
#include "base/cleanup.h"
#include "base/sha256.h"
#include "environments/inventory.h"

#define MODE_PLAIN      0444
#define MODE_EXECUTABLE 0555

struct entry {
    size_t path;   /* below the content: its place in the texts */
    size_t target; /* of a link, the same */
    uint64_t size; /* of a file */
    int64_t time;
    mode_t mode;
};

struct texts {
    char *bytes;
    size_t length;
    size_t capacity;
};

struct package_archive {
    int content; /* owned */
    const char *place;
    struct entry *entries;
    size_t count;
    size_t capacity;
    size_t next; /* the entry that comes next; one more than count: the end was written */
    struct texts texts;
    unsigned char pending[TAR_HEADERS_LIMIT]; /* a header, or what fills a block */
    size_t pending_length;
    size_t pending_offset;
    int file; /* whose bytes come next; -1 */
    uint64_t left;
    struct sha256 of_file;
    struct sha256 of_all;
    char sha256[SHA256_TEXT_LENGTH + 1];
    struct error error;
};

static bool fail(struct error *error, enum error_code code, const char *sentence)
{
    (void)error_set(error, code, "%s", sentence);
    return false;
}

static bool fail_errno(struct error *error, const char *sentence)
{
    (void)error_set_errno(error, ERROR_ENVIRONMENT_CHANGED, errno, "%s", sentence);
    return false;
}

/* The offset of the copy; SIZE_MAX: no memory. */
static size_t keep_text(struct texts *texts, const char *text)
{
    size_t size = strlen(text) + 1;
    size_t at = texts->length;
    if (texts->capacity - at < size) {
        size_t wanted = texts->capacity * 2 + size + 4096;
        char *grown = realloc(texts->bytes, wanted);
        if (!grown)
            return SIZE_MAX;
        texts->bytes = grown;
        texts->capacity = wanted;
    }
    memcpy(texts->bytes + at, text, size);
    texts->length += size;
    return at;
}

static struct entry *add_entry(struct package_archive *archive)
{
    if (archive->count == archive->capacity) {
        size_t wanted = archive->capacity * 2 + 256;
        struct entry *grown = reallocarray(archive->entries, wanted, sizeof(*grown));
        if (!grown)
            return NULL;
        archive->entries = grown;
        archive->capacity = wanted;
    }
    return &archive->entries[archive->count++];
}

static bool has_good_mode(const struct stat *status)
{
    mode_t bits = status->st_mode & 07777;
    return S_ISLNK(status->st_mode) || bits == MODE_EXECUTABLE ||
           (S_ISREG(status->st_mode) && bits == MODE_PLAIN);
}

static bool read_target(const struct tree_entry *entry, char ret[TREE_PATH_LIMIT + 1],
                        struct error *error)
{
    ssize_t length = readlinkat(entry->directory, entry->name, ret, TREE_PATH_LIMIT + 1);
    if (length < 0)
        return fail_errno(error, "it cannot be read");
    if (length > TREE_PATH_LIMIT)
        return fail(error, ERROR_ENVIRONMENT_CHANGED, "its target is too long");
    ret[length] = '\0';
    return tree_text_is_plain(ret) ||
           fail(error, ERROR_ENVIRONMENT_CHANGED, "its target is no plain text");
}

static bool list_entry(void *user, const struct tree_entry *found, struct error *error)
{
    struct package_archive *archive = user;
    const struct stat *status = found->status;
    char target[TREE_PATH_LIMIT + 1] = "";
    if (!has_good_mode(status))
        return fail(error, ERROR_ENVIRONMENT_CHANGED, "it has a mode that packages have not");
    if (S_ISLNK(status->st_mode) && !read_target(found, target, error))
        return false;
    struct entry *entry = add_entry(archive);
    if (!entry)
        return fail(error, ERROR_OUT_OF_MEMORY, "no memory for the list of files");
    *entry = (struct entry){
        .path = keep_text(&archive->texts, found->path),
        .target = keep_text(&archive->texts, target),
        .size = S_ISREG(status->st_mode) ? (uint64_t)status->st_size : 0,
        .time = status->st_mtim.tv_sec,
        .mode = status->st_mode,
    };
    return (entry->path != SIZE_MAX && entry->target != SIZE_MAX) ||
           fail(error, ERROR_OUT_OF_MEMORY, "no memory for the list of files");
}

static bool list(struct package_archive *archive, const struct tree_limits *limits,
                 struct error *error)
{
    struct tree_walk walk = {.limits = limits, .visit = list_entry, .user = archive};
    if (tree_walk_run(archive->content, &walk, error))
        return true;
    if (error->code != ERROR_OUT_OF_MEMORY)
        error->code = ERROR_ENVIRONMENT_CHANGED;
    if (walk.path[0] != '\0')
        (void)error_add_context(error, "%.200s", walk.path);
    return false;
}

static void clear(struct package_archive **archive)
{
    package_archive_close(*archive);
}

struct package_archive *package_archive_open(int content, const char *place,
                                             const struct tree_limits *limits, struct error *error)
{
    CLEANUP(clear) struct package_archive *archive = calloc(1, sizeof(*archive));
    if (!archive) {
        fail(error, ERROR_OUT_OF_MEMORY, "no memory for the archive of packages");
        return NULL;
    }
    archive->file = -1;
    archive->place = place;
    archive->content = fcntl(content, F_DUPFD_CLOEXEC, 3);
    if (archive->content < 0) {
        fail_errno(error, "the directory of packages cannot be opened");
        return NULL;
    }
    sha256_begin(&archive->of_all);
    return list(archive, limits, error) ? TAKE_POINTER(archive) : NULL;
}

void package_archive_close(struct package_archive *archive)
{
    if (!archive)
        return;
    close_fd(archive->content);
    close_fd(archive->file);
    free(archive->entries);
    free(archive->texts.bytes);
    free(archive);
}

static const char *path_of(const struct package_archive *archive, const struct entry *entry)
{
    return archive->texts.bytes + entry->path;
}

static void add_to_hash(void *user, const char *bytes, size_t length)
{
    struct sha256 *hash = user;
    sha256_add(hash, bytes, length);
}

/* sha256: of a file's content, else NULL. */
static void note(struct package_archive *archive, const struct entry *entry, const char *sha256)
{
    const struct inventory_entry line = {
        .mode = entry->mode,
        .path = path_of(archive, entry),
        .size = entry->size,
        .sha256 = sha256,
        .target = archive->texts.bytes + entry->target,
    };
    inventory_write_line(&line, add_to_hash, &archive->of_all);
}

/* The file that was listed, or none. */
static bool open_file(struct package_archive *archive, const struct entry *entry)
{
    struct open_how how = {
        .flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
    };
    struct stat status;
    archive->file =
        (int)syscall(SYS_openat2, archive->content, path_of(archive, entry), &how, sizeof(how));
    if (archive->file < 0 || fstat(archive->file, &status) < 0)
        return fail_errno(&archive->error, "it cannot be read");
    if (!S_ISREG(status.st_mode) || (uint64_t)status.st_size != entry->size)
        return fail(&archive->error, ERROR_ENVIRONMENT_CHANGED, "it has changed");
    archive->left = entry->size;
    sha256_begin(&archive->of_file);
    return true;
}

static void fill_up(struct package_archive *archive, size_t length)
{
    memset(archive->pending, 0, length);
    archive->pending_length = length;
    archive->pending_offset = 0;
}

static void end_file(struct package_archive *archive)
{
    const struct entry *entry = &archive->entries[archive->next - 1];
    char sha256[SHA256_TEXT_LENGTH + 1];
    close_fd(TAKE_FD(archive->file));
    sha256_end(&archive->of_file, sha256);
    note(archive, entry, sha256);
    fill_up(archive, (size_t)(-entry->size % TAR_BLOCK));
}

static bool begin_entry(struct package_archive *archive)
{
    const struct entry *entry = &archive->entries[archive->next++];
    char name[TAR_NAME_LIMIT + 1];
    const char *path = path_of(archive, entry);
    (void)snprintf(name, sizeof(name), "%s%s%s%s", archive->place, path[0] ? "/" : "", path,
                   S_ISDIR(entry->mode) ? "/" : "");
    const struct tar_entry header = {
        .name = name,
        .target = archive->texts.bytes + entry->target,
        .size = entry->size,
        .time = entry->time,
        .mode = entry->mode,
    };
    archive->pending_length = tar_write_header(&header, archive->pending);
    archive->pending_offset = 0;
    if (S_ISREG(entry->mode))
        return open_file(archive, entry);
    note(archive, entry, NULL);
    return true;
}

/* What comes next: false with the error. At the end nothing is pending, and no file is open. */
static bool advance(struct package_archive *archive)
{
    if (archive->file >= 0) {
        end_file(archive);
    } else if (archive->next < archive->count) {
        if (begin_entry(archive))
            return true;
        (void)error_add_context(&archive->error, "%.200s",
                                path_of(archive, &archive->entries[archive->next - 1]));
        return false;
    } else if (archive->next == archive->count) {
        archive->next++;
        sha256_end(&archive->of_all, archive->sha256);
        fill_up(archive, (size_t)2 * TAR_BLOCK);
    }
    return true;
}

static ssize_t read_file(struct package_archive *archive, void *bytes, size_t capacity)
{
    size_t wanted = archive->left < capacity ? (size_t)archive->left : capacity;
    ssize_t count;
    do
        count = read(archive->file, bytes, wanted);
    while (count < 0 && errno == EINTR);
    if (count <= 0) {
        if (count == 0)
            fail(&archive->error, ERROR_ENVIRONMENT_CHANGED, "a file has become shorter");
        else
            fail_errno(&archive->error, "a file cannot be read");
        return -1;
    }
    sha256_add(&archive->of_file, bytes, (size_t)count);
    archive->left -= (uint64_t)count;
    return count;
}

static size_t take_pending(struct package_archive *archive, void *bytes, size_t capacity)
{
    size_t left = archive->pending_length - archive->pending_offset;
    size_t count = left < capacity ? left : capacity;
    memcpy(bytes, archive->pending + archive->pending_offset, count);
    archive->pending_offset += count;
    return count;
}

/* The header of a file goes ahead of its bytes. */
static ssize_t read_piece(struct package_archive *archive, void *bytes, size_t capacity)
{
    for (;;) {
        if (archive->pending_offset < archive->pending_length)
            return (ssize_t)take_pending(archive, bytes, capacity);
        if (archive->file >= 0 && archive->left > 0)
            return read_file(archive, bytes, capacity);
        if (archive->next > archive->count)
            return 0;
        if (!advance(archive))
            return -1;
    }
}

ssize_t package_archive_read(struct package_archive *archive, void *bytes, size_t capacity)
{
    size_t length = 0;
    while (length < capacity) {
        ssize_t count = read_piece(archive, (char *)bytes + length, capacity - length);
        if (count < 0)
            return -1;
        if (count == 0)
            break;
        length += (size_t)count;
    }
    return (ssize_t)length;
}

const struct error *package_archive_error(const struct package_archive *archive)
{
    return &archive->error;
}

const char *package_archive_sha256(const struct package_archive *archive)
{
    return archive->next > archive->count ? archive->sha256 : NULL;
}
