/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A directory that files of a program are written to (--out). Their names are a stranger's:
 * nothing is written outside of it, through a link, over an existing file unless that was asked
 * for, or as something to execute. What a terminal would obey is escaped in names. Any thread.
 */
#pragma once

#include <stdbool.h>

#include "base/failure.h"

struct output_directory {
    int fd; /* owned; -1: none */
    const char *path;
    bool force; /* existing files are replaced */
};

/* Makes the directory where it is not there. */
bool output_directory_open(const char *path, bool force, struct output_directory *ret,
                           struct failure *failure);
void output_directory_close(struct output_directory *directory);

/* Writes the content at fd to a file of that relative path. *ret_path is new: where it is now, the
 * directory's path in front. A file is there wholly or not at all. */
bool output_directory_write(const struct output_directory *directory, const char *path, int content,
                            char **ret_path, struct failure *failure);
