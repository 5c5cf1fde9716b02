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

#include "backends/common/input_file.h"
#include "backends/process/sandbox/mount_fd.h"
#include "base/cleanup.h"
#include "base/write_fully.h"

/* The descriptor is closed however it ends. */
static int copy_input(struct run_files *files, const struct run_file *file, int target)
{
    unsigned char chunk[INPUT_FILE_CHUNK];
    CLEANUP(input_file_close) struct input_file input = {.fd = -1};
    ssize_t length;
    if (input_file_open(files->inputs, file, &input) < 0)
        return -1;
    while ((length = input_file_read(&input, chunk, sizeof(chunk))) > 0)
        if (!write_fully(target, chunk, (size_t)length))
            return -1;
    if (length < 0)
        files->failure = RUN_FAILURE_INPUT_FILE;
    return (int)length;
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
        return write_fully(fd, file->content, file->length) ? 0 : -1;
    return copy_input(files, file, fd);
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
