/* SPDX-License-Identifier: Apache-2.0 */
/* Asking for a cell's files, and reading them: see session_files.h. Runs in the gateway, on the
 * thread inside tool_invoke(). */
#include "run/session_files.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sha256.h"
#include "protocol/channel.h"
#include "protocol/file_frames.h"
#include "protocol/session.h"
#include "run/backend_client.h"

static void free_files(struct run_file **files)
{
    free(*files);
}

/* The files that the cell brings are known by their hashes. Its program is none of them. */
static struct run_file *list_inputs(const struct run_description *cell)
{
    struct run_file *files = calloc(cell->file_count + 1, sizeof(*files));
    for (size_t i = 1; files && i < cell->file_count; i++) {
        struct run_file *file = &files[i - 1];
        *file = cell->files[i];
        if (!file->by_reference)
            sha256_hex(file->content, file->length, file->sha256);
        file->content = NULL;
        file->by_reference = true;
    }
    return files;
}

static bool describe(const struct run_description *cell, int *ret_wanted, struct error *error)
{
    static char name[] = "cell";
    static char *argv[] = {name, NULL};
    CLEANUP(free_files) struct run_file *files = list_inputs(cell);
    if (!files) {
        error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the cell's files");
        return false;
    }
    struct run_description wanted = {
        .argv = argv,
        .files = files,
        .file_count = cell->file_count > 0 ? cell->file_count - 1 : 0,
        .outputs = cell->outputs,
    };
    memcpy(wanted.run_id, cell->run_id, sizeof(wanted.run_id));
    *ret_wanted = backend_describe(&wanted, error);
    return *ret_wanted >= 0;
}

/* A cell that brings no file is not described ahead: most of them leave none either. */
bool session_files_describe(const struct run_description *cell, int *ret_wanted,
                            struct error *error)
{
    *ret_wanted = -1;
    return cell->outputs.files == 0 || cell->file_count <= 1 || describe(cell, ret_wanted, error);
}

/* As the sandbox says it where there is none. */
static void take_none(const struct run *run)
{
    static const unsigned char last[FILE_FRAME_HEADER] = {0, 0, 0, 0, FILE_FRAME_LAST};
    (void)run->files.take(run->files.user, last, sizeof(last));
}

static void tell_idle(const struct session_run *session)
{
    const struct session_order idle = {.kind = SESSION_ORDER_IDLE};
    (void)channel_send(session->backend.events, &idle, sizeof(idle), NULL, 0);
}

/* false: nobody collects. */
static bool ask(const struct session_run *session, struct run *run, int wanted, bool haste)
{
    const struct session_order order = {.kind = SESSION_ORDER_COLLECT, .haste = haste};
    struct error error;
    CLEANUP_CLOSE int described = -1;
    CLEANUP_CLOSE int frames = -1;
    if ((wanted < 0 && !describe(run->description, &described, &error)) ||
        backend_output_pipe(&run->files.fd, &frames, &error) != 0)
        return false;
    const int fds[] = {wanted >= 0 ? wanted : described, frames};
    return channel_send(session->backend.events, &order, sizeof(order), fds, COUNT_OF(fds)) == 0;
}

void session_files_collect(const struct session_run *session, struct run *run, int wanted,
                           const struct cell_word *word, enum run_cause cause)
{
    bool haste = cause != RUN_CAUSE_EXIT; /* it was interrupted */
    if (word->home_is_empty) {
        take_none(run);
        tell_idle(session);
        return;
    }
    if (!ask(session, run, wanted, haste))
        tell_idle(session);
    file_stream_finish(&run->files, haste ? -1 : run->cancel_fd, haste);
}
