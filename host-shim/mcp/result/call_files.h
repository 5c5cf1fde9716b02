/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a provider's output for a client: images as image content, what is large as a link
 * to a resource; small ones stay where they are. On the thread of a call.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "mcp/result/artifacts.h"
#include "mcp/wire/terms.h"

/* Appends content blocks for what is taken out of output's "files", where each such file then has
 * "uri" or nothing instead of "content". false: out of memory. */
bool call_files_take(struct artifacts *artifacts, const struct terms *terms, json_t *output,
                     json_t *content);
