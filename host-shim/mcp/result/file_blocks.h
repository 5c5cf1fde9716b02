/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a result as content of tools/call: an image that a model can see, a line of text
 * for each file, and a link for each one that is kept. On the thread of a call.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "files/artifact_store.h"
#include "mcp/wire/session_revision.h"

/* Bytes of Base64; a larger image is only linked to. */
#define FILE_BLOCKS_IMAGE ((size_t)4 << 20)

/* Appends the blocks, first those of displays: entries like those of "files". Files that are in the
 * output are kept, and get a "uri"; large ones and images lose their "content" there. false: out of
 * memory. */
bool file_blocks_add(const struct artifact_store *artifacts, const struct session_revision *session,
                     json_t *output, const json_t *displays, json_t *content);
