/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the command of a shell's session: our program takes its cells (shell/main.c). Runs in pid 2
 * of a sandbox. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/process/sandbox/interpreter_command.h"
#include "backends/process/sandbox/sandbox.h"
#include "base/string_list.h"

#define IN_FRONT 3 /* its own name, the file of the session's empty program, the shell's path */

int shell_command(struct program *program, struct run_description *description,
                  const char *directory)
{
    static char name[] = SHELL_PROGRAM;
    size_t count = description->preparation.program_argument; /* the shell's name and options */
    if (count == 0 || count >= string_list_count(description->argv)) {
        errno = EBADMSG;
        return -1;
    }
    char **arguments = calloc(IN_FRONT + count + 1, sizeof(*arguments));
    char *shell = strdup(program->path);
    if (!arguments || !shell) {
        free(arguments);
        free(shell);
        return -1;
    }
    arguments[0] = name;
    arguments[1] = description->argv[count];
    arguments[2] = shell;
    memcpy(&arguments[IN_FRONT], description->argv, count * sizeof(*arguments));
    description->argv = arguments; /* as long as this process */
    (void)snprintf(program->path, sizeof(program->path), "%s/%s", directory, SHELL_PROGRAM);
    return 0;
}
