/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tool's result in a shape that models and frameworks know: openai, openai-shell, anthropic,
 * gemini, e2b, text. Read from the members that results usually have (stdout, stderr, exit_code,
 * signal, status, timed_out, files, results, exception, error); a result without stdout is its own
 * JSON text. Pure code, any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/failure.h"
#include "formats/outcome.h"

struct result_format;

/* NULL with the failure filled (code "usage") for a name that is none. */
const struct result_format *result_format_find(const char *name, struct failure *failure);

/* *ret_text (malloc'd) is what to print, with its line break; in the format "text" a program's NUL
 * bytes are in it. ran: the tool ran, whatever became of its program. */
bool result_format_apply(const struct result_format *format, bool ran, const json_t *result,
                         char **ret_text, size_t *ret_length, struct failure *failure);

/* E2B's Execution: results with a member for each type of content, logs and an error. Types without
 * a member are under "extra". New; NULL when out of memory. */
json_t *e2b_format_make(const struct outcome *outcome);
