/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether nobody but root and the user of this process can change what a path leads to, or what is
 * below it, and whether an interpreter may therefore run outside of a sandbox. What passes can be
 * changed by these two only, so it still holds when it is used. Reads file systems, executes
 * nothing; single-threaded.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "backends/process/messages/sandbox_template.h"
#include "protocol/preparation_outcome.h"

#define TRUSTED_ROOTS_LIMIT   128    /* directories that are no part of each other */
#define TRUSTED_ENTRIES_LIMIT 500000 /* files of all of them together */

enum trusted_outcome {
    TRUSTED_PATH,
    TRUSTED_ABSENCE, /* nothing is there, and nobody else can put something there */
    DISTRUSTED_PATH,
};

/* Walks an absolute path name by name. Every directory, link and file on it belongs to one of the
 * two and is writable by nobody else; a directory on the way may be sticky (/tmp). ret: the path
 * without symbolic links, as far as it exists; of one that is not to be trusted, as far as the walk
 * came: what others can change. */
enum trusted_outcome trusted_path_walk(const char *path, char ret[PATH_MAX]);

/* Directories and files to look at: those that were named, and those that links lead to. */
struct trusted_roots {
    char *paths[TRUSTED_ROOTS_LIMIT + 1]; /* without links, none below another one; then NULL */
    size_t count;
    char distrusted[PATH_MAX]; /* the first that was found so; "": none, or there were too many */
};

/* Notes a path to be looked at; one that is not there counts for nothing. false: it is not to be
 * trusted, or there are too many. */
bool trusted_roots_add(struct trusted_roots *roots, const char *path);

/* Notes why they are not to be trusted; the first reason stays. */
void trusted_roots_distrust(struct trusted_roots *roots, const char *path);

/* Looks at every file below them. Where Python reads paths from files of that kind (*.pth), what
 * they name is looked at as well. false: one is not to be trusted. */
bool trusted_roots_check(struct trusted_roots *roots);

/* Whether an interpreter may run outside of a sandbox, as one that is copied does: nobody but root
 * and the gateway's user can decide what it executes or imports. Its variables are of a list that
 * is known to be harmless, and every file that it may come to passes the checks above. In a child
 * of the supervisor, before its execve. path: the file that is to be executed. The directories that
 * Python may import from, separated by colons, each without symbolic links; the caller's to free.
 * NULL: it is not to be trusted, for *ret. */
char *interpreter_trust(const struct interpreter_template *interpreter, const char *path,
                        struct preparation_outcome *ret);
