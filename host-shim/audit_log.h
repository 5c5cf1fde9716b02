/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The audit log: a JSON Lines file, each line chained to the one before by its hash. Several
 * processes may append to one file. Called on the thread that is inside tool_invoke().
 */
#pragma once

#include <stdbool.h>

#include "failure.h"

/* ${XDG_STATE_HOME:-$HOME/.local/state}/toolhost/audit.jsonl, its directories made; new text. */
bool audit_log_default_path(char **ret_path, struct failure *failure);

/* Appends the record; true means that it is on the disk (or that path is a character device such
 * as /dev/null, which takes it without a chain). A log whose end is torn or changed is refused. */
bool audit_log_append(const char *path, const char *record_json, struct failure *failure);
