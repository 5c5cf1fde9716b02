/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the choice of files, and their way into frames: see collection.h. Runs in the first process
 * of a sandbox. */
#include "guest/files/collection.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/glob.h"
#include "base/sha256.h"
#include "guest/files/file_frame_writer.h"
#include "guest/files/file_walk.h"

/* What a policy lets through is found in milliseconds, and read in less than a second. */
#define SEARCH_LIMIT_US (UINT64_C(3) * 1000000)
#define TIME_LIMIT_US   (UINT64_C(10) * 1000000)
#define HASTE_LIMIT_US  (UINT64_C(1000) * FILE_FRAMES_HASTE_MS)

/* A larger input, of the size that it had, is read only where it may be sent. */
#define COMPARED_BYTES_LIMIT (UINT64_C(16) << 20)

/* What an interpreter leaves beside the modules that it has imported. */
#define PYTHON_CACHE "__pycache__"

struct identity {
    dev_t device;
    ino_t inode;
};

struct collection {
    int directory;
    const struct collection_order *order;
    struct file_frame_writer writer;
    uint64_t begin_us;
    uint64_t limit_us; /* of time, without what the reader takes */
    uint64_t listed;
    uint64_t total_bytes;     /* of the files that were sent */
    struct known_files known; /* after this collection */
    struct identity *linked;  /* files with several names, that were seen under one */
    size_t linked_count;
    unsigned char chunk[FILE_FRAME_DATA_LIMIT];
};

static bool has_part(const char *path, const char *part)
{
    size_t length = strlen(part);
    for (const char *next = path; next; next = strchr(next, '/')) {
        next += *next == '/';
        if (strncmp(next, part, length) == 0 && (next[length] == '\0' || next[length] == '/'))
            return true;
    }
    return false;
}

static bool has_hidden_part(const char *path)
{
    return path[0] == '.' || strstr(path, "/.");
}

static bool is_wanted(const void *user, const char *path)
{
    char *const *patterns = user;
    if (!patterns || !patterns[0])
        return !has_hidden_part(path) && !has_part(path, PYTHON_CACHE);
    for (; *patterns; patterns++)
        if (glob_matches(*patterns, path))
            return true;
    return false;
}

static bool names_hidden(char *const *patterns)
{
    for (; patterns && *patterns; patterns++)
        if (has_hidden_part(*patterns))
            return true;
    return false;
}

static bool is_late(const struct collection *collection)
{
    return file_walk_now_us() >
           collection->begin_us + collection->writer.waited_us + collection->limit_us;
}

/* The file that was found, and no other; -1 where it cannot be read. */
static int open_found(const struct collection *collection, const struct found_file *file)
{
    struct stat status;
    CLEANUP_CLOSE int fd =
        file_walk_open(collection->directory, file->path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) ||
        status.st_ino != file->status.st_ino || status.st_dev != file->status.st_dev)
        return -1;
    return TAKE_FD(fd);
}

/* The bytes that are there, up to capacity; -1 with errno. */
static ssize_t read_chunk(int fd, unsigned char *chunk, size_t capacity)
{
    ssize_t length;
    do
        length = read(fd, chunk, capacity);
    while (length < 0 && errno == EINTR);
    return length;
}

/* One whose content is not at hand is known by its hash. */
static bool has_content(struct collection *collection, const struct found_file *file,
                        const struct run_file *input)
{
    CLEANUP_CLOSE int fd = open_found(collection, file);
    struct sha256 hash;
    char sum[SHA256_TEXT_LENGTH + 1];
    uint64_t done = 0;
    sha256_begin(&hash);
    while (fd >= 0 && done < input->length) {
        ssize_t length = read_chunk(fd, collection->chunk, sizeof(collection->chunk));
        if (length <= 0 || (uint64_t)length > input->length - done)
            return false;
        if (!input->content)
            sha256_add(&hash, collection->chunk, (size_t)length);
        else if (memcmp(collection->chunk, &input->content[done], (size_t)length) != 0)
            return false;
        done += (uint64_t)length;
    }
    sha256_end(&hash, sum);
    return fd >= 0 && (input->sha256[0] == '\0' || strcmp(sum, input->sha256) == 0);
}

/* NULL: the run did not bring it. */
static const struct run_file *find_input(const struct collection *collection, const char *path)
{
    const struct collection_order *order = collection->order;
    for (size_t i = 0; i < order->input_count; i++)
        if (strcmp(order->inputs[i].path, path) == 0)
            return &order->inputs[i];
    return NULL;
}

/* A large file is not read only to find that it is too large to be sent. */
static bool is_untouched(struct collection *collection, const struct found_file *file)
{
    const struct run_file *input = find_input(collection, file->path);
    if (!input || !file->regular || (uint64_t)file->status.st_size != input->length)
        return false;
    return (input->length > COMPARED_BYTES_LIMIT &&
            input->length > collection->order->outputs->file_bytes) ||
           has_content(collection, file, input);
}

/* Whether this is a further name of a file that was seen. */
static bool is_seen(struct collection *collection, const struct found_file *file)
{
    if (file->status.st_nlink < 2)
        return false;
    for (size_t i = 0; i < collection->linked_count; i++)
        if (collection->linked[i].inode == file->status.st_ino &&
            collection->linked[i].device == file->status.st_dev)
            return true;
    collection->linked[collection->linked_count++] =
        (struct identity){file->status.st_dev, file->status.st_ino};
    return false;
}

static enum known_state find_known(const struct collection *collection,
                                   const struct found_file *file)
{
    return collection->order->known
               ? known_files_find(collection->order->known, file->path, &file->status)
               : KNOWN_NOT;
}

static void remember(struct collection *collection, const struct found_file *file)
{
    if (collection->order->known && !collection->writer.failed)
        known_files_add(&collection->known, file->path, &file->status,
                        !is_wanted(NULL, file->path));
}

/* Leaves the files that the run brought, or that the last collection has told of, and that are as
 * they were, out of the list. */
static void drop_untouched(struct collection *collection, struct file_walk *walk)
{
    size_t kept = 0;
    for (size_t i = 0; i < walk->count; i++) {
        struct found_file file = walk->files[i];
        if (find_known(collection, &file) != KNOWN_UNCHANGED && !is_untouched(collection, &file)) {
            walk->files[kept++] = file;
            continue;
        }
        remember(collection, &file);
        (void)is_seen(collection, &file);
        free(file.path);
    }
    walk->count = kept;
}

/* No more than the size that was announced, and not less: the tree is dead. false: not all of it.
 */
static bool send_content(struct collection *collection, int fd, uint64_t size)
{
    struct sha256 hash;
    char sum[SHA256_TEXT_LENGTH + 1];
    uint64_t rest = size;
    sha256_begin(&hash);
    while (rest > 0 && !collection->writer.failed) {
        size_t wanted = rest < sizeof(collection->chunk) ? (size_t)rest : sizeof(collection->chunk);
        ssize_t length = read_chunk(fd, collection->chunk, wanted);
        if (length <= 0 || is_late(collection)) {
            file_frame_end(&collection->writer, length <= 0 ? FILE_UNREADABLE : FILE_TIME_LIMIT,
                           NULL);
            return false;
        }
        sha256_add(&hash, collection->chunk, (size_t)length);
        file_frame_data(&collection->writer, collection->chunk, (size_t)length);
        rest -= (size_t)length;
    }
    sha256_end(&hash, sum);
    file_frame_end(&collection->writer, FILE_WHOLE, sum);
    return true;
}

/* Before it is opened. */
static enum file_omission omission_of(struct collection *collection, const struct found_file *file)
{
    const struct run_outputs *outputs = collection->order->outputs;
    uint64_t size = (uint64_t)file->status.st_size;
    if (!file->regular)
        return FILE_NOT_REGULAR;
    if (is_seen(collection, file))
        return FILE_SAME_FILE;
    if (size > outputs->file_bytes)
        return FILE_TOO_LARGE;
    return size > outputs->total_bytes - collection->total_bytes ? FILE_TOTAL_TOO_LARGE
                                                                 : FILE_WHOLE;
}

static void send_file(struct collection *collection, const struct found_file *file)
{
    uint64_t size = file->regular ? (uint64_t)file->status.st_size : 0;
    bool was_there =
        find_input(collection, file->path) || find_known(collection, file) != KNOWN_NOT;
    enum file_change change = was_there ? FILE_CHANGE_CHANGED : FILE_CHANGE_NEW;
    enum file_omission omission = omission_of(collection, file);
    CLEANUP_CLOSE int fd = omission == FILE_WHOLE ? open_found(collection, file) : -1;
    collection->listed++;
    if (omission == FILE_WHOLE && fd < 0)
        omission = FILE_UNREADABLE;
    if (omission != FILE_WHOLE) {
        file_frame_omit(&collection->writer, file->path, size, change, omission);
        if (omission != FILE_TOTAL_TOO_LARGE) /* of which there may be room the next time */
            remember(collection, file);
        return;
    }
    collection->total_bytes += size;
    file_frame_begin(&collection->writer, file->path, size, change);
    if (send_content(collection, fd, size))
        remember(collection, file);
}

static uint64_t size_of_rest(const struct file_walk *walk, size_t first)
{
    uint64_t bytes = 0;
    for (size_t i = first; i < walk->count; i++)
        if (walk->files[i].regular &&
            __builtin_add_overflow(bytes, (uint64_t)walk->files[i].status.st_size, &bytes))
            return UINT64_MAX;
    return bytes;
}

/* Names as many as the limit allows; the rest is counted. */
static void send_files(struct collection *collection, struct file_walk *walk)
{
    size_t i = 0;
    while (i < walk->count && collection->listed < collection->order->outputs->files &&
           !is_late(collection) && !collection->writer.failed)
        send_file(collection, &walk->files[i++]);
    enum file_omission reason =
        collection->listed < collection->order->outputs->files ? FILE_TIME_LIMIT : FILE_TOO_MANY;
    file_frame_omit_files(&collection->writer, walk->count - i, size_of_rest(walk, i), reason);
}

static void send_left_out(struct collection *collection, const struct file_walk *walk)
{
    for (int i = 0; i < FILE_OMISSION_COUNT; i++)
        file_frame_omit_files(&collection->writer, walk->left_out[i], 0, (enum file_omission)i);
}

/* By patterns, or within a limit, not all files are met. */
static bool met_all(const struct collection *collection, const struct file_walk *walk)
{
    char *const *patterns = collection->order->outputs->patterns;
    return (!patterns || !patterns[0]) && walk->left_out[FILE_TOO_MANY] == 0 &&
           walk->left_out[FILE_TIME_LIMIT] == 0;
}

/* Where the reader has gone, what it has not read comes again. */
static void keep_known(struct collection *collection, const struct file_walk *walk)
{
    struct known_files *known = collection->order->known;
    if (!known || collection->writer.failed) {
        known_files_clear(&collection->known);
        return;
    }
    known_files_sort(&collection->known);
    known_files_inherit(&collection->known, known, !met_all(collection, walk));
    known_files_clear(known);
    *known = collection->known;
}

void collect_nothing(enum file_omission reason, const struct file_frame_sink *sink)
{
    struct file_frame_writer writer = {.sink = *sink};
    (void)signal(SIGPIPE, SIG_IGN);
    if (reason != FILE_WHOLE)
        file_frame_lose_files(&writer, reason);
    file_frame_last(&writer);
}

static uint64_t search_limit_us(const struct collection_order *order)
{
    return order->haste ? HASTE_LIMIT_US / 2 : SEARCH_LIMIT_US;
}

static void search(int directory, const struct collection_order *order, uint64_t begin_us,
                   struct file_walk *ret)
{
    const struct walk_filter filter = {
        .wants = is_wanted,
        .user = order->outputs->patterns,
        .hidden = names_hidden(order->outputs->patterns),
        .deadline_us = begin_us + search_limit_us(order),
    };
    file_walk_below(directory, &filter, ret);
}

bool collect_finds_any(int directory, const struct collection_order *order)
{
    CLEANUP(file_walk_clear) struct file_walk walk = {.count = 0};
    search(directory, order, file_walk_now_us(), &walk);
    bool finds = false;
    for (int i = 0; i < FILE_OMISSION_COUNT; i++)
        finds = finds || walk.left_out[i] > 0;
    for (size_t i = 0; i < walk.count && !finds; i++)
        finds = known_files_find(order->known, walk.files[i].path, &walk.files[i].status) !=
                KNOWN_UNCHANGED;
    return finds;
}

void collect_files(int directory, const struct collection_order *order,
                   const struct file_frame_sink *sink)
{
    CLEANUP_FREE struct collection *collection = calloc(1, sizeof(*collection));
    CLEANUP(file_walk_clear) struct file_walk walk = {.count = 0};
    (void)signal(SIGPIPE, SIG_IGN);
    if (!collection)
        return;
    collection->directory = directory;
    collection->order = order;
    collection->writer.sink = *sink;
    collection->begin_us = file_walk_now_us();
    collection->limit_us = order->haste ? HASTE_LIMIT_US : TIME_LIMIT_US;
    search(directory, order, collection->begin_us, &walk);
    CLEANUP_FREE struct identity *linked = calloc(walk.count + 1, sizeof(*linked));
    if (!linked)
        return;
    collection->linked = linked;
    drop_untouched(collection, &walk);
    send_files(collection, &walk);
    send_left_out(collection, &walk);
    file_frame_last(&collection->writer);
    keep_known(collection, &walk);
}
