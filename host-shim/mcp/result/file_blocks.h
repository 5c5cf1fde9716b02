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

/* Appends the blocks. Files that are in the output are kept, and get a "uri"; large ones and images
 * lose their "content" there. false: out of memory. */
bool file_blocks_add(const struct artifact_store *artifacts, const struct session_revision *session,
                     json_t *output, json_t *content);
