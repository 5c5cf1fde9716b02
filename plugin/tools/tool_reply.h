/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gateway's answer to a call of a tool (tool_reply_call() in abi/tool_provider.h), as the
 * program gets it. The text is the gateway's, what it says a tool's: a stranger's. Pure code, any
 * thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "tools/tool_answer.h"

#define TOOL_REPLY_DEPTH_LIMIT  60     /* of arrays and objects */
#define TOOL_REPLY_VALUES_LIMIT 262144 /* a table of 25 000 rows with ten columns */

/* The result of a tool as MCP has it: {"content": [blocks], "structured_content"?, "is_error"?},
 * with MCP's spellings of names too, and whatever else it may have.
 *   is_error: the error tool_error, with the text of its blocks;
 *   structured_content: JSON;
 *   no block: the JSON null; one of text: text, or, where the tool has an output schema, the JSON
 *   that the text is; one of data: bytes; several, or a link: content.
 * false: it is none (INVALID_HOST, and the message says why), or the answer would have more than
 * limit bytes, or OUT_OF_MEMORY. */
bool tool_reply_read(const char *reply_json, size_t length, size_t limit, bool has_output_schema,
                     struct tool_answer *ret, struct error *error);
