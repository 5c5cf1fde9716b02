/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the files: see interpreter_files.h. Read in the supervisor, before it clones. */
#include "backends/process/sandbox/interpreter_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backends/common/run_input.h"
#include "base/cleanup.h"
#include "protocol/run_description.h"

#define FILE_LIMIT (UINT32_C(8) << 20)

static struct interpreter_file files[RUN_INTERPRETER_COUNT][4] = {
    [RUN_INTERPRETER_PYTHON] = {{.name = "sitecustomize.py"},
                                {.name = "code_execute_python.so"},
                                {.name = "trial.py"}},
    [RUN_INTERPRETER_NODE] = {{.name = "preload.js"}, {.name = "code_execute_node.node"}},
};

const char *interpreter_files_directory(void)
{
    static char directory[PATH_MAX];
    char program[PATH_MAX];
    if (directory[0] != '\0')
        return directory;
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    if (length <= 0)
        return NULL;
    program[length] = '\0';
    char *slash = strrchr(program, '/');
    if (!slash)
        return NULL;
    *slash = '\0';
    if ((size_t)snprintf(directory, sizeof(directory), "%s/interpreter", program) <
        sizeof(directory))
        return directory;
    directory[0] = '\0';
    return NULL;
}

static bool read_file(const char *directory, struct interpreter_file *file)
{
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof(path), "%s/%s", directory, file->name) >= sizeof(path))
        return false;
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        file->content = run_read_file(fd, FILE_LIMIT, &file->length);
    return file->content != NULL;
}

const struct interpreter_file *interpreter_files(uint32_t kind)
{
    const char *directory = interpreter_files_directory();
    errno = ENOENT;
    if (!directory || kind == RUN_INTERPRETER_NONE || kind >= RUN_INTERPRETER_COUNT)
        return NULL;
    for (struct interpreter_file *file = files[kind]; file->name; file++)
        if (!file->content && !read_file(directory, file))
            return NULL;
    return files[kind];
}
