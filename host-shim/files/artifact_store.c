/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps files. Whoever writes holds a lock on the directory, so what has no whole entry then is
 * left from a writer that died. Readers take no lock: an entry is written last. Any thread.
 */
#include "files/artifact_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/state_file.h"
#include "files/artifact_entry.h"

#define CODE "file_not_kept"
#define MOST 2048u /* files */
#define LEAST_SIZE                                                                \
    UINT64_C(4096) /* what a file counts for at least: its entry, too, takes room \
                    */
#define CHUNK (1u << 20)

static const struct state_file place = {"artifacts", "the files of runs", "--artifacts", CODE};

bool artifact_store_init(struct artifact_store *ret, const char *directory, uint64_t max_bytes,
                         uint64_t kept_ms, struct failure *failure)
{
    struct failure ignored;
    char *path = directory ? strdup(directory) : NULL;
    if (directory && !path)
        return failure_out_of_memory(failure);
    if (!directory)
        (void)state_file_path(&place, &path, &ignored); /* said when a file is to be kept */
    *ret = (struct artifact_store){path, max_bytes, kept_ms};
    return true;
}

void artifact_store_clear(struct artifact_store *store)
{
    free(store->path);
    store->path = NULL;
}

static void close_directory(DIR **directory)
{
    if (*directory)
        (void)closedir(*directory);
}

/* Whose names others could change is no store. */
static bool check_directory(int fd, const char *path, struct failure *failure)
{
    struct stat status;
    if (fd < 0 || fstat(fd, &status) < 0)
        return failure_set_errno(failure, CODE, errno, "%s", path);
    if (status.st_uid != geteuid() || (status.st_mode & 077) != 0)
        return failure_set(failure, CODE, "%s must be yours alone (mode 0700)", path);
    return true;
}

static DIR *open_store(const struct artifact_store *store, struct failure *failure)
{
    if (!store->path) {
        (void)failure_set(failure, CODE, "no directory for the files of runs");
        (void)failure_set_hint(failure,
                               "set HOME or XDG_STATE_HOME, or give --artifacts DIRECTORY");
        return NULL;
    }
    CLEANUP_CLOSE int fd = open(store->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (!check_directory(fd, store->path, failure))
        return NULL;
    DIR *directory = fdopendir(fd);
    if (directory)
        (void)TAKE_FD(fd);
    else
        (void)failure_out_of_memory(failure);
    return directory;
}

/* With the lock. A descriptor of its own, so that it also keeps this process's threads apart. */
static DIR *open_for_writing(const struct artifact_store *store, struct failure *failure)
{
    if (store->path && (!state_file_make_directories(&place, store->path, failure)))
        return NULL;
    if (store->path && mkdir(store->path, 0700) < 0 && errno != EEXIST) {
        (void)failure_set_errno(failure, CODE, errno, "cannot make directory %s", store->path);
        return NULL;
    }
    CLEANUP(close_directory) DIR *directory = open_store(store, failure);
    while (directory && flock(dirfd(directory), LOCK_EX) < 0) {
        if (errno == EINTR)
            continue;
        (void)failure_set_errno(failure, CODE, errno, "cannot lock %s", store->path);
        return NULL;
    }
    return TAKE_POINTER(directory);
}

static bool is_over(const json_t *entry)
{
    return json_member_integer(entry, "expires", 0) <= (json_int_t)time(NULL);
}

static uint64_t room_of(const json_t *entry)
{
    uint64_t size = (uint64_t)json_member_integer(entry, "size", 0);
    return size > LEAST_SIZE ? size : LEAST_SIZE;
}

static uint64_t number_of(const json_t *entry)
{
    return (uint64_t)json_member_integer(entry, "number", 0);
}

static int compare_entries(const void *left, const void *right)
{
    uint64_t one = number_of(*(json_t *const *)left);
    uint64_t other = number_of(*(json_t *const *)right);
    return one < other ? -1 : one > other;
}

static json_t *sort_entries(const json_t *entries)
{
    size_t count = json_array_size(entries);
    CLEANUP_FREE json_t **order = reallocarray(NULL, count + 1, sizeof(json_t *));
    json_t *sorted = order ? json_array() : NULL;
    for (size_t i = 0; sorted && i < count; i++)
        order[i] = json_array_get(entries, i);
    if (sorted)
        qsort(order, count, sizeof(json_t *), compare_entries);
    for (size_t i = 0; sorted && i < count; i++)
        (void)json_array_append(sorted, order[i]);
    return sorted;
}

/* Those that can still be fetched, the oldest first. remove: under the lock, the others go. */
static json_t *read_entries(DIR *directory, bool remove)
{
    json_auto_t *entries = json_array();
    char id[ARTIFACT_ID_SIZE];
    rewinddir(directory);
    for (const struct dirent *file = readdir(directory); entries && file;
         file = readdir(directory)) {
        bool names_entry = artifact_id_of_entry_name(file->d_name, id);
        if (!names_entry && !(remove && artifact_id_of_content_name(file->d_name, id)))
            continue;
        json_auto_t *entry = artifact_entry_read(dirfd(directory), id);
        if (remove && (!entry || is_over(entry)))
            artifact_entry_remove(dirfd(directory), id);
        else if (names_entry && entry && !is_over(entry))
            (void)json_array_append(entries, entry);
    }
    return entries ? sort_entries(entries) : NULL;
}

/* Under the lock: the oldest go until so much fits. */
static bool make_room(const struct artifact_store *store, DIR *directory, const json_t *entries,
                      uint64_t size, struct failure *failure)
{
    if (size > store->max_bytes)
        return failure_set(failure, CODE, "larger than all that is kept (--artifacts-max-bytes)");
    uint64_t used = size;
    size_t index = 0;
    const json_t *entry = NULL;
    json_array_foreach(entries, index, entry) used += room_of(entry);
    size_t left = json_array_size(entries);
    json_array_foreach(entries, index, entry)
    {
        char id[ARTIFACT_ID_SIZE];
        if (used <= store->max_bytes && left < MOST)
            break;
        if (artifact_id_of_uri(json_member_string(entry, "uri", ""), id))
            artifact_entry_remove(dirfd(directory), id);
        used -= room_of(entry);
        left--;
    }
    return true;
}

static bool copy_content(int from, int to, uint64_t size)
{
    off_t offset = 0;
    while ((uint64_t)offset < size) {
        ssize_t copied = sendfile(to, from, &offset, CHUNK);
        if (copied == 0)
            errno = ENODATA; /* it became shorter */
        if (copied <= 0 && errno != EINTR)
            return false;
    }
    return true;
}

static bool write_content(int directory, const char *id, int from, uint64_t size,
                          char ret_sha256[SHA256_HEX + 1], struct failure *failure)
{
    CLEANUP_CLOSE int to =
        openat(directory, id, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (to >= 0 && copy_content(from, to, size) && sha256_hex_of_file(to, size, ret_sha256))
        return true;
    return failure_set_errno(failure, CODE, errno, "cannot be written");
}

/* facts has the ID, the number and the size. */
static json_t *write_file(const struct artifact_store *store, int directory, const json_t *file,
                          int from, struct artifact_facts *facts, struct failure *failure)
{
    facts->created = time(NULL);
    facts->expires = facts->created + (int64_t)((store->kept_ms + 999) / 1000);
    if (!write_content(directory, facts->id, from, facts->size, facts->sha256, failure))
        return NULL;
    if (strcmp(json_member_string(file, "sha256", facts->sha256), facts->sha256) != 0) {
        (void)failure_set(failure, CODE, "its content is not what its SHA-256 says");
        return NULL;
    }
    json_auto_t *entry = artifact_entry_make(facts, file);
    if (entry && artifact_entry_write(directory, facts->id, entry))
        return TAKE_POINTER(entry);
    (void)failure_set_errno(failure, CODE, errno, "cannot be written");
    return NULL;
}

json_t *artifact_store_keep(const struct artifact_store *store, const json_t *file, int fd,
                            struct failure *failure)
{
    struct artifact_facts facts = {0};
    struct stat status;
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) ||
        !hex_random(facts.id, ARTIFACT_ID_DIGITS)) {
        (void)failure_set(failure, CODE, "not a regular file");
        return NULL;
    }
    facts.size = (uint64_t)status.st_size;
    uint64_t room = facts.size > LEAST_SIZE ? facts.size : LEAST_SIZE;
    CLEANUP(close_directory) DIR *directory = open_for_writing(store, failure);
    json_auto_t *entries = directory ? read_entries(directory, true) : NULL;
    if (directory && !entries)
        (void)failure_out_of_memory(failure);
    if (!entries || !make_room(store, directory, entries, room, failure))
        return NULL;
    size_t count = json_array_size(entries);
    facts.number = 1 + (count > 0 ? number_of(json_array_get(entries, count - 1)) : 0);
    json_t *entry = write_file(store, dirfd(directory), file, fd, &facts, failure);
    if (!entry)
        artifact_entry_remove(dirfd(directory), facts.id);
    return entry;
}

json_t *artifact_store_find(const struct artifact_store *store, const char *name, int *ret_fd,
                            struct failure *failure)
{
    char id[ARTIFACT_ID_SIZE];
    struct failure ignored;
    bool is_uri = strchr(name, '/') != NULL;
    CLEANUP(close_directory)
    DIR *directory = artifact_id_of_uri(name, id) ? open_store(store, &ignored) : NULL;
    json_auto_t *entry = directory ? artifact_entry_read(dirfd(directory), id) : NULL;
    bool found = entry && !is_over(entry) &&
                 (!is_uri || strcmp(json_member_string(entry, "uri", ""), name) == 0);
    CLEANUP_CLOSE int fd =
        found ? openat(dirfd(directory), id, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
    if (fd < 0) {
        (void)failure_set(failure, "unknown_file", "no file %s (any more)", name);
        return NULL;
    }
    if (ret_fd)
        *ret_fd = TAKE_FD(fd);
    return TAKE_POINTER(entry);
}

json_t *artifact_store_list(const struct artifact_store *store, struct failure *failure)
{
    if (store->path && access(store->path, F_OK) < 0 && errno == ENOENT)
        return json_array();
    CLEANUP(close_directory) DIR *directory = open_store(store, failure);
    json_t *entries = directory ? read_entries(directory, false) : NULL;
    if (directory && !entries)
        (void)failure_out_of_memory(failure);
    return entries;
}
