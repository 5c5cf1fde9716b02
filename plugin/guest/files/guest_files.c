/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the files of a run: see guest_files.h. Runs in the guest. */
#include "guest/files/guest_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "guest/files/collection.h"
#include "guest/files/stop_tree.h"
#include "guest/messages/guest_input.h"
#include "guest/messages/guest_output.h"

/* Those of its directories that are not there yet. */
static bool make_directories(const char *path, mode_t mode)
{
    CLEANUP_FREE char *part = strdup(path);
    if (!part)
        return false;
    for (char *slash = part; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        if (mkdir(part, mode) < 0 && errno != EEXIST)
            return false;
        *slash = '/';
    }
    return true;
}

static const char *take_file(struct run_file *file, bool private)
{
    static char problem[256];
    if (!make_directories(file->path, private ? 0700 : 0755)) {
        (void)snprintf(problem, sizeof(problem), "make the directory of %.100s: %s", file->path,
                       strerror(errno));
        return problem;
    }
    CLEANUP_CLOSE int fd = open(file->path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
                                private ? 0400 : 0644);
    if (fd >= 0 && input_take_content(fd, file))
        return NULL;
    (void)snprintf(problem, sizeof(problem), "write the file %.100s: %s", file->path,
                   strerror(errno));
    return problem;
}

const char *files_take(struct guest_run *run, struct guest_files *ret)
{
    size_t count = 0;
    const char *problem = NULL;
    while (run->paths[count])
        count++;
    struct run_file *inputs = calloc(count + 1, sizeof(*inputs));
    if (!inputs)
        return "keep the paths of the files";
    for (size_t i = 0; i < count && !problem; i++) {
        inputs[i].path = TAKE_POINTER(run->paths[i]);
        problem = take_file(&inputs[i], count - i <= run->private_file_count);
    }
    *ret = (struct guest_files){.inputs = inputs, .input_count = count, .outputs = run->outputs};
    run->outputs.patterns = NULL;
    return problem;
}

/* In the directory of the path, which no link leads to. -1 with errno. */
static int create_below(const char *path, bool private)
{
    CLEANUP_FREE char *parts = strdup(path);
    CLEANUP_CLOSE int directory = open(RUN_HOME, O_PATH | O_DIRECTORY | O_CLOEXEC);
    char *part = parts;
    for (char *slash; part && directory >= 0 && (slash = strchr(part, '/')); part = slash + 1) {
        *slash = '\0';
        if (mkdirat(directory, part, private ? 0700 : 0755) < 0 && errno != EEXIST)
            return -1;
        int next = openat(directory, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        close_fd(directory);
        directory = next;
    }
    if (!part || directory < 0 || (unlinkat(directory, part, 0) < 0 && errno != ENOENT))
        return -1;
    return openat(directory, part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                  private ? 0400 : 0644);
}

static const char *take_cell_file(struct run_file *file, bool private)
{
    static char problem[256];
    CLEANUP_CLOSE int fd = create_below(file->path, private);
    int error = fd < 0 ? errno : 0;
    if (!input_take_content(fd, file) && error == 0)
        error = errno;
    if (error == 0)
        return NULL;
    (void)snprintf(problem, sizeof(problem), "%.150s: %s", file->path, strerror(error));
    return problem;
}

const char *files_take_cell(struct guest_run *run, int code, struct guest_files *ret)
{
    size_t count = 0;
    const char *problem = NULL;
    struct run_file program;
    while (run->paths[count])
        count++;
    struct run_file *inputs = calloc(count + 1, sizeof(*inputs));
    if (!inputs || count == 0 || !input_take_content(code, &program))
        _exit(1);
    for (size_t i = 1; i < count; i++) {
        struct run_file *file = &inputs[i - 1];
        file->path = strdup(run->paths[i]);
        file->by_reference = true;
        if (!file->path)
            _exit(1);
        const char *said = take_cell_file(file, count - i <= run->private_file_count);
        problem = problem ? problem : said;
    }
    *ret = (struct guest_files){.inputs = inputs, .input_count = count - 1};
    return problem;
}

const char *files_take_further(struct guest_run *run)
{
    size_t count = 0;
    const char *problem = NULL;
    while (run->paths[count])
        count++;
    for (size_t i = 0; i < count; i++) {
        struct run_file file = {.path = run->paths[i]};
        const char *said = take_cell_file(&file, count - i <= run->private_file_count);
        problem = problem ? problem : said;
    }
    return problem;
}

const char *files_refuse(const char *path)
{
    static char problem[256];
    (void)unlink(path); /* whatever it is by now, it is the program's */
    (void)snprintf(problem, sizeof(problem), "%.150s: its content is not as described", path);
    return problem;
}

void files_clear(struct guest_files *files)
{
    for (size_t i = 0; i < files->input_count; i++)
        free(files->inputs[i].path);
    free(files->inputs);
    *files = (struct guest_files){.inputs = NULL};
}

static bool send_parts(void *user, struct iovec *parts, size_t count)
{
    (void)user;
    for (size_t i = 0; i < count; i++)
        if (parts[i].iov_len > 0)
            output_put(GUEST_FILES, parts[i].iov_base, parts[i].iov_len);
    return true;
}

void files_send(const struct guest_files *files, bool haste)
{
    static const struct file_frame_sink sink = {.write = send_parts};
    const struct collection_order order = {&files->outputs, files->inputs, files->input_count,
                                           haste, NULL};
    if (files->outputs.files == 0)
        return;
    CLEANUP_CLOSE int home = open(RUN_HOME, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (home >= 0)
        collect_files(home, &order, &sink);
    output_put(GUEST_COLLECTED, NULL, 0);
    output_flush_all();
}

void files_send_changed(const struct guest_files *files, const struct run_outputs *outputs,
                        struct known_files *known, const pid_t *programs, size_t program_count,
                        bool haste)
{
    static const struct file_frame_sink sink = {.write = send_parts};
    const struct collection_order order = {outputs, files->inputs, files->input_count, haste,
                                           known};
    CLEANUP_CLOSE int home = open(RUN_HOME, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (home >= 0 && !collect_finds_any(home, &order)) {
        collect_nothing(FILE_WHOLE, &sink);
    } else if (home >= 0) {
        if (stop_tree(programs, program_count, 0)) {
            collect_files(home, &order, &sink);
            known_files_await_tick(known);
        } else {
            collect_nothing(FILE_NOT_FROZEN, &sink);
        }
        continue_tree();
    }
    output_put(GUEST_COLLECTED, NULL, 0);
}

static bool send_nothing(void *user, struct iovec *parts, size_t count)
{
    (void)user;
    (void)parts;
    (void)count;
    return true;
}

void files_note(struct known_files *known)
{
    static const struct file_frame_sink nobody = {.write = send_nothing};
    const struct run_outputs all = {
        .files = UINT32_MAX, .file_bytes = INT64_MAX, .total_bytes = INT64_MAX};
    const struct collection_order order = {.outputs = &all, .known = known};
    CLEANUP_CLOSE int home = open(RUN_HOME, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (home < 0)
        return;
    collect_files(home, &order, &nobody);
    known_files_await_tick(known);
}
