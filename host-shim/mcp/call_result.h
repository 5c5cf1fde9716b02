/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A provider's output as the result of tools/call: what the tool declares as structured content and
 * as text; rich results and files as content of their kind; an error as text that says what to do.
 * On the thread of a call.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

struct server;
struct terms;

/* tool is the manifest's, status what tool_invoke() returned, output its JSON (borrowed, changed
 * where files are taken out of it; NULL: none that could be read). New; NULL when out of memory. */
json_t *call_result_make(struct server *server, const struct terms *terms, const json_t *tool,
                         int32_t status, json_t *output);
/* A tool error of toolhost's own. */
json_t *call_result_error(const char *code, const char *message, const char *hint);
