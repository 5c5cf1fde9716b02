/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the files of a run: see directories.h. Runs in inits and subreapers, single-threaded. */
#include "backends/process/sandbox/directories.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/common/input_file.h"
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
