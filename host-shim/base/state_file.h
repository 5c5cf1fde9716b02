/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where toolhost keeps what lasts longer than a call: below ${XDG_STATE_HOME:-$HOME/.local/state}.
 * Reads the environment; main thread, before any other is there, or the thread inside
 * tool_invoke() of a host that leaves its environment alone.
 */
#pragma once

#include <stdbool.h>

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
