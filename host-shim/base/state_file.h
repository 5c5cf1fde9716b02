/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where toolhost keeps what lasts longer than a call: below ${XDG_STATE_HOME:-$HOME/.local/state}.
 * Reads the environment; main thread, before any other is there, or the thread inside
 * tool_invoke() of a host that leaves its environment alone. Judging a file: any thread.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "base/failure.h"

struct state_file {
    const char *name;   /* in toolhost's directory */
    const char *what;   /* in messages: "the audit log" */
    const char *option; /* that names another place for it */
    const char *code;   /* of failures */
};

/* *ret_path: its path, new. */
bool state_file_path(const struct state_file *file, char **ret_path, struct failure *failure);
/* Makes the directories that its path needs (mode 0700). */
bool state_file_make_directories(const struct state_file *file, const char *path,
                                 struct failure *failure);

/* Can only its owner have read or written it? Judges what fstat() said of an open file: regular, of
 * this user or of root, without any permission for its group or others. path is for the message,
 * code for the failure. */
bool trusted_file_check(const struct stat *status, const char *path, const char *code,
                        struct failure *failure);
