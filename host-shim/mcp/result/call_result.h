/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A provider's output as the result of tools/call: what the tool declares as structured content and
 * as text; rich results and files as content of their kind; an error as text that says what to do.
 * On the thread of a call.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "files/artifact_store.h"
#include "mcp/wire/session_revision.h"

/* The return of tool_invoke(). */
struct tool_answer {
    const json_t *tool; /* of the manifest */
    int32_t status;
    json_t *output; /* borrowed, changed where files are taken out of it; NULL: none to be read */
};

/* full: all of the output, and not what the manifest calls brief. New; NULL when out of memory. */
json_t *call_result_make(const struct artifact_store *artifacts,
                         const struct session_revision *session, bool full,
                         const struct tool_answer *answer);
/* A tool error of toolhost's own. */
json_t *call_result_error(const char *code, const char *message, const char *hint);
