/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the collection behind a cell: see cell_files.h. Runs in the init of a sandbox. */
#include "backends/process/sandbox/cell_files.h"

#include <fcntl.h>
#include <unistd.h>

#include "backends/common/run_input.h"
#include "backends/process/program/whole_tree.h"
#include "backends/process/sandbox/sandbox.h"
#include "base/cleanup.h"
#include "guest/files/collection.h"
#include "guest/files/known_files.h"
#include "guest/files/stop_tree.h"
#include "protocol/channel.h"

static struct known_files known; /* of the cells before */
static const char *home_path = SANDBOX_HOME;

void cell_files_init(const char *home)
{
    home_path = home;
}

/* A program cannot exchange it: it has no right on the directory that this one is in. */
static int open_home(void)
{
    return open(home_path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* The interpreters of the session. */
static bool stop_session(const struct main_program *program)
{
    pid_t pids[1 + OTHER_PROGRAMS_MOST] = {program->pid};
    for (size_t i = 0; i < program->other_count; i++)
        pids[1 + i] = program->others[i].pid;
    return stop_tree(pids, 1 + program->other_count, whole_tree_guardian());
}

struct watched_sink {
    const struct file_frame_sink *inner;
    struct supervision *supervision;
};

/* A process may have itself sent on meanwhile. What it exceeds ends the collection, and then the
 * session. */
static bool write_watching(void *user, struct iovec *parts, size_t count)
{
    const struct watched_sink *watched = user;
    return supervision_look(watched->supervision) == RUN_CAUSE_EXIT &&
           watched->inner->write(watched->inner->user, parts, count);
}

/* Most cells leave no file. Then nothing is stopped: whatever is written from now on comes with the
 * next cell. */
static void collect(struct main_program *program, const struct collection_order *order, int home,
                    const struct file_frame_sink *sink)
{
    if (!collect_finds_any(home, order)) {
        collect_nothing(FILE_WHOLE, sink);
        return;
    }
    struct watched_sink watched = {.inner = sink, .supervision = &program->supervision};
    const struct file_frame_sink watching = {.write = write_watching, .user = &watched};
    if (stop_session(program)) {
        supervision_rest(&program->supervision, true);
        collect_files(home, order, &watching);
        known_files_await_tick(&known);
        supervision_rest(&program->supervision, false);
    } else {
        collect_nothing(FILE_NOT_FROZEN, sink);
    }
    continue_tree();
}

void cell_files_note(void)
{
    const struct run_outputs all = {
        .files = UINT32_MAX, .file_bytes = INT64_MAX, .total_bytes = INT64_MAX};
    const struct collection_order order = {.outputs = &all, .known = &known};
    CLEANUP_CLOSE int home = open_home();
    CLEANUP_CLOSE int nobody = open("/dev/null", O_WRONLY | O_CLOEXEC);
    const struct file_frame_sink sink = file_frames_to_pipe(&nobody);
    if (home < 0 || nobody < 0)
        return;
    collect_files(home, &order, &sink);
    known_files_await_tick(&known);
}

void cell_files_collect(struct main_program *program, int supervisor)
{
    CLEANUP(run_description_clear) struct run_description description = {.file_count = 0};
    struct sandbox_order order;
    int fds[2] = {-1, -1};
    size_t count = 0;
    ssize_t received =
        channel_receive(supervisor, &order, sizeof(order), fds, COUNT_OF(fds), &count);
    CLEANUP_CLOSE int message = fds[0];
    CLEANUP_CLOSE int frames = fds[1];
    if (received != sizeof(order) || count != COUNT_OF(fds) ||
        !whole_tree_is_alone() || /* "all processes" would be others' */
        !run_read_description(message, &description))
        return;
    CLEANUP_CLOSE int home = open_home();
    const struct file_frame_sink sink = file_frames_to_pipe(&frames);
    const struct collection_order wanted = {
        .outputs = &description.outputs,
        .inputs = description.files,
        .input_count = description.file_count,
        .haste = order.haste != 0,
        .known = &known,
    };
    if (home >= 0)
        collect(program, &wanted, home, &sink);
}
