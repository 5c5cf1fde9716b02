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

/* Bytes of Base64; a larger image is only linked to. */
#define FILE_BLOCKS_IMAGE ((size_t)4 << 20)

/* Appends the files of a result as blocks of content: an image that a model can see, a line of text
 * for each file, and a link for each one that is kept. First come those of displays: entries like
 * those of "files". Files that are in the output are kept, and get a "uri"; large ones and images
 * lose their "content" there. false: out of memory. */
bool file_blocks_add(const struct artifact_store *artifacts, const struct session_revision *session,
                     json_t *output, const json_t *displays, json_t *content);
