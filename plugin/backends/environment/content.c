/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what is made below content/: see content.h. While it is made, directories have mode 0700, so
 * that its owner can remove it after a failure. */
#include "backends/environment/content.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/write_fully.h"

#define COPY_BYTES    65536
#define RESOLVE_TRIES 100000

/* The last part of a path, in the directory that it names. */
struct place {
    int directory; /* owned */
    const char *name;
};

static void place_clear(const struct place *place)
{
    close_fd(place->directory);
}

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

/* A rename or mount anywhere on the machine may make the kernel doubt a path with "..": EAGAIN. */
static int open_beneath(int top, const char *path, uint64_t flags, uint64_t resolve)
{
    const struct open_how how = {
        .flags = flags | O_CLOEXEC,
        .resolve = resolve | RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
    };
    int fd;
    unsigned tries = RESOLVE_TRIES;
    do
        fd = (int)syscall(SYS_openat2, top, path, &how, sizeof(how));
    while (fd < 0 && errno == EAGAIN && --tries > 0);
    return fd;
}

static bool count_inode(struct content *content, struct error *error)
{
    if (content->totals.inodes == content->limits->inodes)
        return fail(error, "the archive has more files and directories than allowed");
    content->totals.inodes++;
    return true;
}

static bool count_bytes(struct content *content, uint64_t bytes, struct error *error)
{
    if (bytes > content->limits->bytes - content->totals.bytes)
        return fail(error, "the files of the archive have more bytes than allowed");
    content->totals.bytes += bytes;
    return true;
}

/* A directory that may be there already. */
static bool make_directory(struct content *content, int parent, const char *name,
                           struct error *error)
{
    struct stat status;
    if (fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) == 0)
        return S_ISDIR(status.st_mode) ||
               fail(error, "the archive has the path before, as another kind of entry");
    if (!count_inode(content, error))
        return false;
    return mkdirat(parent, name, 0700) == 0 || fail_errno(error, "the directory cannot be made");
}

/* With the directories ahead of it that the archive has not named. */
static bool make_parents(struct content *content, char *path, struct error *error)
{
    CLEANUP_CLOSE int parent = fcntl(content->top, F_DUPFD_CLOEXEC, 0);
    if (parent < 0)
        return fail_errno(error, "the directory cannot be opened");
    while (path) {
        char *slash = strchr(path, '/');
        if (slash)
            *slash = '\0';
        if (!make_directory(content, parent, path, error))
            return false;
        int next = openat(parent, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (next < 0)
            return fail_errno(error, "the directory cannot be opened");
        close_fd(parent);
        parent = next;
        path = slash ? slash + 1 : NULL;
    }
    return true;
}

static bool open_parent(struct content *content, const char *path, struct place *ret,
                        struct error *error)
{
    char parent[TREE_PATH_LIMIT + 1] = ".";
    const char *slash = strrchr(path, '/');
    if (slash) {
        memcpy(parent, path, (size_t)(slash - path));
        parent[slash - path] = '\0';
    }
    const uint64_t flags = O_PATH | O_DIRECTORY;
    int directory = open_beneath(content->top, parent, flags, RESOLVE_NO_SYMLINKS);
    if (directory < 0 && errno == ENOENT) {
        char copy[sizeof(parent)];
        memcpy(copy, parent, sizeof(parent));
        if (!make_parents(content, copy, error))
            return false;
        directory = open_beneath(content->top, parent, flags, RESOLVE_NO_SYMLINKS);
    }
    if (directory < 0 && (errno == ELOOP || errno == ENOTDIR))
        return fail(error, "the path goes through an entry that is no directory");
    if (directory < 0)
        return fail_errno(error, "the directory cannot be opened");
    *ret = (struct place){directory, slash ? slash + 1 : path};
    return true;
}

static bool fail_making(struct error *error)
{
    return errno == EEXIST ? fail(error, "the archive has the path twice")
                           : fail_errno(error, "the entry cannot be made");
}

static bool write_content(int file, struct archive_input *input, const struct archive_item *item,
                          struct error *error)
{
    for (;;) {
        const void *bytes;
        int64_t count = archive_input_read(input, item, &bytes, error);
        if (count <= 0)
            return count == 0;
        if (!write_fully(file, bytes, (size_t)count))
            return fail_errno(error, "the file cannot be written");
    }
}

static bool finish_file(int file, mode_t mode, int64_t seconds, struct error *error)
{
    const struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
    return (fchmod(file, mode) == 0 && futimens(file, times) == 0) ||
           fail_errno(error, "the file's mode and time cannot be set");
}

static int create_file(const struct place *place)
{
    return openat(place->directory, place->name,
                  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static bool add_file(struct content *content, const struct place *place,
                     struct archive_input *input, const struct archive_item *item,
                     struct error *error)
{
    if (!count_inode(content, error) || !count_bytes(content, item->size, error))
        return false;
    CLEANUP_CLOSE int file = create_file(place);
    if (file < 0)
        return fail_making(error);
    content->totals.files++;
    return write_content(file, input, item, error) &&
           finish_file(file, item->is_executable ? 0555 : 0444, item->time, error);
}

static bool copy_content(int from, int to, struct error *error)
{
    unsigned char bytes[COPY_BYTES];
    for (;;) {
        ssize_t count = read(from, bytes, sizeof(bytes));
        if (count < 0 && errno == EINTR)
            continue;
        if (count == 0)
            return true;
        if (count < 0 || !write_fully(to, bytes, (size_t)count))
            return fail_errno(error, "the file cannot be copied");
    }
}

/* A copy: so no file has two names, of which one could be forgotten when the other is judged. */
static bool add_copy(struct content *content, const struct place *place,
                     const struct archive_item *item, struct error *error)
{
    struct stat status;
    CLEANUP_CLOSE int from = open_beneath(content->top, item->target,
                                          O_RDONLY | O_NOFOLLOW | O_NONBLOCK, RESOLVE_NO_SYMLINKS);
    if (from < 0 || fstat(from, &status) < 0 || !S_ISREG(status.st_mode))
        return fail(error, "the hard link has no file ahead of it that it names");
    if (!count_inode(content, error) || !count_bytes(content, (uint64_t)status.st_size, error))
        return false;
    CLEANUP_CLOSE int file = create_file(place);
    if (file < 0)
        return fail_making(error);
    content->totals.files++;
    return copy_content(from, file, error) &&
           finish_file(file, status.st_mode & 07777, status.st_mtim.tv_sec, error);
}

static bool add_link(struct content *content, const struct place *place,
                     const struct archive_item *item, struct error *error)
{
    const struct timespec times[2] = {{.tv_sec = item->time}, {.tv_sec = item->time}};
    if (!count_inode(content, error))
        return false;
    if (symlinkat(item->target, place->directory, place->name) < 0)
        return fail_making(error);
    return utimensat(place->directory, place->name, times, AT_SYMLINK_NOFOLLOW) == 0 ||
           fail_errno(error, "the link's time cannot be set");
}

bool content_add(struct content *content, struct archive_input *input,
                 const struct archive_item *item, struct error *error)
{
    CLEANUP(place_clear) struct place place = {.directory = -1};
    if (item->path[0] == '\0')
        return true;
    if (!open_parent(content, item->path, &place, error))
        return false;
    switch (item->kind) {
    case ITEM_DIRECTORY:
        return make_directory(content, place.directory, place.name, error);
    case ITEM_LINK:
        return add_link(content, &place, item, error);
    case ITEM_HARD_LINK:
        return add_copy(content, &place, item, error);
    case ITEM_FILE:
    default:
        return add_file(content, &place, input, item, error);
    }
}

/* By the kernel, with all that the archive has made: texts alone do not show where a link leads
 * that goes through another one. */
static bool check_link(int top, const char *path, struct error *error)
{
    CLEANUP_CLOSE int target = open_beneath(top, path, O_PATH, 0);
    if (target >= 0 || errno == ENOENT || errno == ENOTDIR)
        return true; /* one that leads nowhere leads nowhere outside */
    if (errno == EXDEV)
        return fail(error, "the link leads out of the directory of packages");
    return errno == ELOOP ? fail(error, "the link leads in a circle")
                          : fail_errno(error, "the link cannot be followed");
}

static bool settle_entry(void *user, const struct tree_entry *entry, struct error *error)
{
    static const struct timespec times[2] = {{0}, {0}};
    const struct content *content = user;
    if (S_ISLNK(entry->status->st_mode))
        return check_link(content->top, entry->path, error);
    if (!S_ISDIR(entry->status->st_mode))
        return true;
    return (fchmodat(entry->directory, entry->name, 0555, 0) == 0 &&
            utimensat(entry->directory, entry->name, times, 0) == 0) ||
           fail_errno(error, "the directory's mode and time cannot be set");
}

bool content_settle(const struct content *content, char place[TREE_PATH_LIMIT + 1],
                    struct error *error)
{
    struct content copy = *content;
    struct tree_walk walk = {.limits = content->limits, .visit = settle_entry, .user = &copy};
    bool settled = tree_walk_run(content->top, &walk, error);
    if (!settled)
        memcpy(place, walk.path, sizeof(walk.path));
    return settled;
}
