/* SPDX-License-Identifier: Apache-2.0 */
/* Taking the cells of the gateway: see interpreter/cell/cell.h. Runs in the program of a session.
 */
#include "interpreter/cell/cell.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backends/common/run_input.h"
#include "backends/process/sandbox/directories.h"
#include "base/cleanup.h"
#include "base/string_list.h"
#include "protocol/session.h"
#include "protocol/session_cell.h"

static struct run_description taken; /* of the cell under way */

static bool read_description(const struct session_cell *given)
{
    return given->is_brief
               ? run_description_decode(given->description, given->length, &taken)
               : run_read_description(session_cell_fd(given, RUN_FD_DESCRIPTION), &taken);
}

static bool take_answers(const struct session_cell *given)
{
    cell_answers_close();
    return !taken.tools || cell_answers_put(session_cell_fd(given, RUN_FD_TOOLS));
}

static bool take_streams(const struct session_cell *given)
{
    return dup2(session_cell_fd(given, RUN_FD_STDIN), STDIN_FILENO) >= 0 &&
           dup2(session_cell_fd(given, RUN_FD_STDOUT), STDOUT_FILENO) >= 0 &&
           dup2(session_cell_fd(given, RUN_FD_STDERR), STDERR_FILENO) >= 0 &&
           dup3(session_cell_fd(given, RUN_FD_RESULTS), RUN_RESULTS_FD, O_CLOEXEC) >= 0;
}

/* The code is no file of the working directory: it goes out of the list. */
static bool take_code(struct run_description *description, struct run_file *ret)
{
    uint32_t argument = description->preparation.program_argument;
    if (argument >= string_list_count(description->argv))
        return false;
    for (size_t i = 0; i < description->file_count; i++) {
        struct run_file *file = &description->files[i];
        if (strcmp(file->path, description->argv[argument]) != 0 || file->by_reference)
            continue;
        *ret = *file;
        memmove(file, file + 1, (description->file_count - i - 1) * sizeof(*file));
        description->files[--description->file_count] = *ret; /* the description's to free */
        return true;
    }
    return false;
}

static void put_files(const struct run_description *description, int inputs, struct cell *ret)
{
    if (description->file_count == 0)
        return;
    CLEANUP_CLOSE int home = open(cell_home(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct run_files files = {
        .directory = home, .inputs = inputs, .refused = "the working directory"};
    if (home >= 0 && write_run_files(&files, description) == 0)
        return;
    const char *reason = errno != 0 ? strerror(errno) : "its content is not as described";
    (void)snprintf(ret->failure, sizeof(ret->failure), "%.200s: %s", files.refused, reason);
}

enum cell_state cell_take(int socket, struct cell *ret)
{
    CLEANUP(session_cell_clear) struct session_cell given;
    struct run_file code;
    run_description_clear(&taken);
    taken = (struct run_description){.file_count = 0};
    if (!session_cell_receive(socket, true, &given) || given.kind == SESSION_PARK)
        return CELL_NONE;
    *ret = (struct cell){.code = NULL};
    bool is_read = cell_answers_make_room(given.fds, SESSION_CELL_FDS) &&
                   read_description(&given) &&
                   taken.preparation.argument_count <= string_list_count(taken.argv) &&
                   taken.preparation.environment_count <= string_list_count(taken.environment) &&
                   take_code(&taken, &code) && take_streams(&given) && take_answers(&given);
    if (is_read) {
        ret->code = code.content;
        ret->code_length = code.length;
        ret->arguments = &taken.argv[taken.preparation.argument_count];
        ret->environment = &taken.environment[taken.preparation.environment_count];
        ret->lasting = taken.session.lasting_variables;
        ret->has_tools = taken.tools != 0;
        put_files(&taken, session_cell_fd(&given, RUN_FD_INPUTS), ret);
    }
    return is_read ? CELL_TAKEN : CELL_NONE;
}
