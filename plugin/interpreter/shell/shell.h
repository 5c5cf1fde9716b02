/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shell of a session, as the process that takes its cells sees it: a child that waits for the
 * names of files to execute, and tells how each has ended. Where a cell exits, the shell is another
 * process from then on (shell_loop.sh). Runs in the main program of a shell's session,
 * single-threaded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct shell {
    pid_t pid;
    /* The ends of two pipes, and a file in memory. The shell opens them by their names in /proc, so
     * that neither it nor its children hold a descriptor of ours. */
    int orders_read;
    int orders; /* names of files to execute, a line each */
    int answers;
    int answers_write;
    int begin; /* commands that are executed before a file */
    char text[4096];
    size_t length; /* of what was read of the answers, and not yet taken */
};

/* Starts it: its path, and the arguments that are before its own. false, with errno. */
bool shell_start(struct shell *shell, const char *path, char *const *arguments);

/* Has it execute the file, after the commands. false: it cannot be told. */
bool shell_execute(struct shell *shell, const char *file, const void *commands, size_t length);

/* Reads some of what it has said; waits for it. */
void shell_read(struct shell *shell);
/* Takes the next line of that; NULL: there is no whole one. It lasts until the next call of any of
 * these. */
const char *shell_next_line(struct shell *shell);

/* The process that goes on is this one: the one that has forked it is killed. */
void shell_go_on(struct shell *shell, pid_t pid);
