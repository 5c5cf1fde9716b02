/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the search for files: see file_walk.h. Runs in the first process of a sandbox. */
#include "guest/files/file_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Bounds for the memory and the time of a walk, far beyond what a policy lets through. */
#define ENTRIES_LIMIT 20000
#define DEPTH_LIMIT   32
#define BUFFER_BYTES  8192

/* As in linux/openat2.h, which does not come with every C library that the guest is built with. */
struct how_to_open {
    uint64_t flags;
    uint64_t mode;
    uint64_t resolve;
};
#define NO_CROSSING   0x01 /* of mounts */
#define NO_MAGICLINKS 0x02
#define NO_SYMLINKS   0x04
#define BENEATH       0x08

struct walk {
    int top;
    const struct walk_filter *filter;
    struct file_walk *found;
    size_t entries;
    char **directories; /* in the order in which they are read */
    size_t directory_count;
    size_t directory_capacity;
};

/* As getdents64(2) fills it. */
struct entry {
    uint64_t inode;
    int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[];
};

uint64_t file_walk_now_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* One part of the path, up to its next slash. */
static int open_part(int parent, const char *path, size_t length, int flags)
{
    char name[NAME_MAX + 1];
    if (length == 0 || length >= sizeof(name) || (length == 2 && memcmp(path, "..", 2) == 0)) {
        errno = EINVAL;
        return -1;
    }
    memcpy(name, path, length);
    name[length] = '\0';
    return openat(parent, name, flags);
}

/* The same without the call, which gVisor does not have: nothing moves meanwhile, because every
 * process of the run is dead or stopped. */
static int open_by_parts(int directory, const char *path, int flags)
{
    struct stat top;
    struct stat status;
    CLEANUP_CLOSE int parent =
        fstat(directory, &top) == 0 ? fcntl(directory, F_DUPFD_CLOEXEC, 0) : -1;
    while (parent >= 0) {
        size_t length = strcspn(path, "/");
        bool is_last = path[length] == '\0';
        CLEANUP_CLOSE int part = open_part(
            parent, path, length, is_last ? flags : O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (part < 0 || fstat(part, &status) < 0)
            return -1;
        if (status.st_dev != top.st_dev) {
            errno = EXDEV;
            return -1;
        }
        if (is_last)
            return TAKE_FD(part);
        close_fd(parent);
        parent = TAKE_FD(part);
        path += length + 1;
    }
    return -1;
}

int file_walk_open(int directory, const char *path, uint64_t flags)
{
    const struct how_to_open how = {
        .flags = flags | O_NOFOLLOW | O_CLOEXEC,
        .resolve = BENEATH | NO_SYMLINKS | NO_MAGICLINKS | NO_CROSSING,
    };
    int fd = (int)syscall(SYS_openat2, directory, path, &how, sizeof(how));
    return fd < 0 && errno == ENOSYS ? open_by_parts(directory, path, (int)how.flags) : fd;
}

/* Room for one more member. */
static bool grow(void *array, size_t *capacity, size_t count, size_t size)
{
    if (count < *capacity)
        return true;
    size_t wanted = *capacity > 0 ? *capacity * 2 : 16;
    void *grown = reallocarray(*(void **)array, wanted, size);
    if (!grown)
        return false;
    *(void **)array = grown;
    *capacity = wanted;
    return true;
}

static void leave_out(struct walk *walk, enum file_omission reason)
{
    walk->found->left_out[reason]++;
}

/* new; NULL where it is too long, or there is no memory. */
static char *join(const char *directory, const char *name)
{
    char path[FILE_FRAME_PATH_LIMIT + 1];
    int length = directory[0] == '\0' ? snprintf(path, sizeof(path), "%s", name)
                                      : snprintf(path, sizeof(path), "%s/%s", directory, name);
    return (size_t)length < sizeof(path) ? strdup(path) : NULL;
}

static size_t depth_of(const char *path)
{
    size_t depth = 0;
    for (; *path; path++)
        depth += *path == '/';
    return depth;
}

static void add_directory(struct walk *walk, char *path)
{
    if (depth_of(path) + 1 < DEPTH_LIMIT && grow(&walk->directories, &walk->directory_capacity,
                                                 walk->directory_count, sizeof(char *))) {
        walk->directories[walk->directory_count++] = path;
        return;
    }
    leave_out(walk, FILE_TOO_DEEP);
    free(path);
}

static void add_file(struct walk *walk, char *path, const struct stat *status)
{
    struct file_walk *found = walk->found;
    if (!grow(&found->files, &found->capacity, found->count, sizeof(*found->files))) {
        leave_out(walk, FILE_TOO_MANY);
        free(path);
        return;
    }
    found->files[found->count++] =
        (struct found_file){.path = path, .regular = S_ISREG(status->st_mode), .status = *status};
}

static void take_entry(struct walk *walk, int directory, const char *parent, const char *name)
{
    struct stat status;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return;
    if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) < 0) {
        leave_out(walk, FILE_UNREADABLE);
        return;
    }
    bool is_directory = S_ISDIR(status.st_mode);
    if (is_directory && name[0] == '.' && !walk->filter->hidden)
        return;
    char *path = join(parent, name);
    if (!path)
        leave_out(walk, FILE_TOO_DEEP);
    else if (is_directory)
        add_directory(walk, path);
    else if (walk->filter->wants(walk->filter->user, path))
        add_file(walk, path, &status);
    else
        free(path);
}

/* false: the walk ends here. */
static bool take_entries(struct walk *walk, int directory, const char *parent, const char *buffer,
                         size_t length)
{
    for (size_t offset = 0; offset < length;) {
        const struct entry *entry = (const struct entry *)(const void *)&buffer[offset];
        if (++walk->entries > ENTRIES_LIMIT) {
            leave_out(walk, FILE_TOO_MANY);
            return false;
        }
        take_entry(walk, directory, parent, entry->name);
        offset += entry->length;
    }
    if (file_walk_now_us() < walk->filter->deadline_us)
        return true;
    leave_out(walk, FILE_TIME_LIMIT);
    return false;
}

static bool read_directory(struct walk *walk, const char *path)
{
    _Alignas(struct entry) char buffer[BUFFER_BYTES];
    CLEANUP_CLOSE int directory =
        file_walk_open(walk->top, path[0] ? path : ".", O_RDONLY | O_DIRECTORY);
    if (directory < 0) {
        leave_out(walk, FILE_UNREADABLE);
        return true;
    }
    for (;;) {
        long length = syscall(SYS_getdents64, directory, buffer, sizeof(buffer));
        if (length < 0)
            leave_out(walk, FILE_UNREADABLE);
        if (length <= 0)
            return true;
        if (!take_entries(walk, directory, path, buffer, (size_t)length))
            return false;
    }
}

static int compare_files(const void *one, const void *other)
{
    return strcmp(((const struct found_file *)one)->path, ((const struct found_file *)other)->path);
}

void file_walk_below(int directory, const struct walk_filter *filter, struct file_walk *ret)
{
    struct walk walk = {.top = directory, .filter = filter, .found = ret};
    *ret = (struct file_walk){.count = 0};
    bool going_on = read_directory(&walk, "");
    for (size_t i = 0; i < walk.directory_count; i++) {
        going_on = going_on && read_directory(&walk, walk.directories[i]);
        free(walk.directories[i]);
    }
    free(walk.directories);
    if (ret->count > 0)
        qsort(ret->files, ret->count, sizeof(*ret->files), compare_files);
}

void file_walk_clear(struct file_walk *walk)
{
    for (size_t i = 0; i < walk->count; i++)
        free(walk->files[i].path);
    free(walk->files);
    *walk = (struct file_walk){.count = 0};
}
