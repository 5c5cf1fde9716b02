/* SPDX-License-Identifier: Apache-2.0 */
/* What a server answered to a call, as a provider takes it (tool_reply_call). Pure code, any
 * thread. */
#pragma once

#include <jansson.h>

#define TOOL_REPLY_LIMIT (4u << 20)

/* Each is new text of at most TOOL_REPLY_LIMIT bytes; NULL when out of memory. */

/* Of the message that answers a call: its result, or its error as a tool's error. */
char *tool_reply_text(const json_t *message);
/* A tool's error with that text. */
char *tool_reply_error(const char *text);
