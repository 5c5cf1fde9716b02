/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the files of a run: see run_files.h. Runs in inits and subreapers, single-threaded. */
#include "backends/process/sandbox/run_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/process/sandbox/mount_fd.h"
#include "base/cleanup.h"
#include "base/sha256.h"
#include "protocol/channel.h"

#define INPUT_CHUNK_BYTES 65536

static int write_whole(int fd, const unsigned char *bytes, size_t length)
{
    while (length) {
        ssize_t written = write(fd, bytes, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return -1;
        bytes += written;
        length -= (size_t)written;
    }
    return 0;
}

/* The next descriptor that the plugin has sent. */
static int receive_input(int inputs)
{
    char nothing;
    int fd = -1;
    size_t count = 0;
    ssize_t length = channel_receive(inputs, &nothing, sizeof(nothing), &fd, 1, &count);
    if (length >= 0 && count == 1)
        return fd;
    if (length >= 0)
        errno = EBADMSG;
    return -1;
}

static int refuse_input(struct run_files *files, int error_number)
{
    files->failure = RUN_FAILURE_INPUT_FILE;
    errno = error_number;
    return -1;
}

/* Up to the described length, and a byte more to see that it ends there. By position: the gateway
 * may have other descriptors of the same opening. */
static int copy_input(struct run_files *files, int source, int target, const struct run_file *file)
{
    unsigned char chunk[INPUT_CHUNK_BYTES];
    char sha256[SHA256_TEXT_LENGTH + 1];
    struct sha256 hash;
    uint64_t done = 0;
    sha256_begin(&hash);
    while (done <= file->length) {
        uint64_t left = file->length + 1 - done;
        ssize_t length =
            pread(source, chunk, left < sizeof(chunk) ? left : sizeof(chunk), (off_t)done);
        if (length < 0 && errno == EINTR)
            continue;
        if (length < 0)
            return refuse_input(files, errno);
        if (length == 0)
            break;
        done += (uint64_t)length;
        if (done > file->length)
            return refuse_input(files, 0);
        sha256_add(&hash, chunk, (size_t)length);
        if (write_whole(target, chunk, (size_t)length) < 0)
            return -1;
    }
    sha256_end(&hash, sha256);
    bool same = done == file->length && strcmp(sha256, file->sha256) == 0;
    return same ? 0 : refuse_input(files, 0);
}

static int write_run_file(struct run_files *files, const struct run_file *file, mode_t mode)
{
    if (make_parent_directories(files->directory, file->path) < 0)
        return -1;
    CLEANUP_CLOSE int fd = openat(files->directory, file->path,
                                  O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0)
        return -1;
    if (!file->by_reference)
        return write_whole(fd, file->content, file->length);
    CLEANUP_CLOSE int source = receive_input(files->inputs);
    return source < 0 ? -1 : copy_input(files, source, fd, file);
}

int write_run_files(struct run_files *files, const struct run_description *description)
{
    for (size_t i = 0; i < description->file_count; i++) {
        mode_t mode = run_description_file_private(description, i) ? 0400 : 0644;
        if (write_run_file(files, &description->files[i], mode) == 0)
            continue;
        files->refused = description->files[i].path;
        return -1;
    }
    return 0;
}

/* Its own bits may forbid a directory even to its owner. The descriptor is of that directory and no
 * link, and its name in /proc is the one way to change the mode behind an O_PATH. */
static void open_up(int directory, const char *name)
{
    CLEANUP_CLOSE int fd = openat(directory, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    char path[64];
    if (fd < 0)
        return;
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    (void)chmod(path, 0700);
}

/* Takes one entry out of its directory; a directory that is not empty is moved to the top of the
 * tree instead, so that depth costs neither stack nor descriptors. true: something was done. */
static bool take_out(int top, int directory, const char *name, unsigned int *serial)
{
    if (unlinkat(directory, name, 0) == 0)
        return true;
    if (unlinkat(directory, name, AT_REMOVEDIR) == 0)
        return true;
    if (directory == top)
        return false;
    open_up(directory, name);
    char moved[32];
    for (int attempt = 0; attempt < 1000; attempt++) {
        (void)snprintf(moved, sizeof(moved), ".removed-%u", (*serial)++);
        if (renameat2(directory, name, top, moved, RENAME_NOREPLACE) == 0)
            return true;
        if (errno != EEXIST)
            return false;
    }
    return false;
}

/* Empties the directory of that name below top. true: it held something, which is now gone from it.
 */
static bool empty_directory(int top, const char *name, unsigned int *serial)
{
    open_up(top, name);
    int fd = openat(top, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return false;
    DIR *stream = fdopendir(fd);
    if (!stream) {
        close_fd(fd);
        return false;
    }
    bool progress = false;
    struct dirent *entry;
    while ((entry = readdir(stream)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            progress |= take_out(top, dirfd(stream), entry->d_name, serial);
    (void)closedir(stream);
    return progress;
}

/* One pass over the entries of the top directory. true: another one may achieve more. */
static bool empty_top(int top, unsigned int *serial)
{
    int copy = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = copy < 0 ? NULL : fdopendir(copy);
    if (!stream) {
        close_fd(copy);
        return false;
    }
    bool progress = false;
    struct dirent *entry;
    while ((entry = readdir(stream))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (take_out(top, top, entry->d_name, serial) ||
            empty_directory(top, entry->d_name, serial))
            progress = true;
    }
    (void)closedir(stream);
    return progress;
}

void remove_tree(const char *path)
{
    {
        CLEANUP_CLOSE int top = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        unsigned int serial = 0;
        if (top >= 0) {
            (void)fchmod(top, 0700);
            while (empty_top(top, &serial))
                ;
        }
    }
    (void)rmdir(path);
}
