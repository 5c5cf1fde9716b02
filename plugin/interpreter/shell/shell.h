/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main program of a shell's session, and the shell as that program sees it. It takes the cells,
 * because a shell can take no descriptor from a socket, and has its child, the shell, execute them.
 * Descriptors 0-2 and RUN_RESULTS_FD of this process are those of the cell under way, and the shell
 * opens them by their names in /proc. The shell waits for the names of files to execute, and tells
 * how each has ended. Where a cell exits, the shell is another process from then on
 * (shell_loop.sh). All of it runs in a sandbox or in a container, behind every layer, as the user
 * that the cells run as: it belongs to them. Single-threaded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "protocol/wire.h"

struct shell {
    pid_t pid;
    /* The ends of two pipes, and a file without a name. The shell opens them by their names in
     * /proc, so that neither it nor its children hold a descriptor of ours. */
    int orders_read;
    int orders; /* names of files to execute, a line each */
    int answers;
    int answers_write;
    int begin; /* commands that are executed before a file */
    char text[4096];
    size_t length; /* of what was read of the answers, and not yet taken */
};

/* Starts it: its path, the arguments that are before its own, and what it and its children have as
 * RUN_TOOLS_FD. false, with errno. */
bool shell_start(struct shell *shell, const char *path, char *const *arguments, int tools);

/* Has it execute the file, after the commands. false: it cannot be told. */
bool shell_execute(struct shell *shell, const char *file, const void *commands, size_t length);

/* In memory; where memory files are forbidden, in the directory for temporary files. -1: none. */
int shell_nameless_file(void);

/* Reads some of what it has said; waits for it. */
void shell_read(struct shell *shell);
/* Takes the next line of that; NULL: there is no whole one. It lasts until the next call of any of
 * these. */
const char *shell_next_line(struct shell *shell);

/* The process that goes on is this one: the one that has forked it is killed. */
void shell_go_on(struct shell *shell, pid_t pid);

/* Adds to the text the commands by which a shell begins a cell: they put the cell's arguments and
 * variables in place, and leave in _ce_back the commands that take back the variables which do not
 * last. Pure code. The lists are NULL-terminated; variables are "NAME=value", and one whose name
 * no shell can have is left out. */
void begin_text_write(struct wire_writer *text, char *const *arguments, char *const *variables,
                      size_t lasting);

/* The whole main program. The socket of cells is descriptor 0. Executes the shell as path and
 * arguments (its name and its options) say. Returns only where that could not be begun: an exit
 * status. */
int shell_session(const char *path, char *const *arguments);
