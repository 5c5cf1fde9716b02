/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main program of a shell's session in process mode (interpreter/shell/shell.h), which
 * is written into the view of its sandbox.
 *
 *     code-execute-shell PROGRAM PATH NAME [OPTION ...]
 *
 * PROGRAM is the empty file of the session's description. The shell is executed as the rest says.
 */
#include <unistd.h>

#include "interpreter/shell/shell.h"

int main(int count, char **arguments)
{
    if (count < 4)
        return 1;
    (void)unlink(arguments[1]);
    return shell_session(arguments[2], &arguments[3]);
}
