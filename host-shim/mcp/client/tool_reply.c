/* SPDX-License-Identifier: Apache-2.0 */
/* Turns answers into replies. What a server says is a stranger's, and the provider checks it again.
 * Pure code, any thread. */
#include "mcp/client/tool_reply.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"

#define ERROR_LENGTH 4096u

char *tool_reply_error(const char *text)
{
    json_auto_t *reply =
        json_pack("{s:[{s:s, s:s}], s:b}", "content", "type", "text", "text", text, "is_error", 1);
    return json_compact(reply);
}

static char *reply_of_error(const json_t *error)
{
    const char *message = json_member_string(error, "message", "");
    char text[ERROR_LENGTH];
    if (!*message)
        return tool_reply_error("the tool server refused the call without a reason");
    if (snprintf(text, sizeof(text), "the tool server refused the call: %s", message) >=
        (int)sizeof(text))
        return tool_reply_error("the tool server refused the call, and gave a long reason");
    return tool_reply_error(text);
}

/* From 2026-07-28 on a server may want something first; toolhost has declared that it cannot. */
static bool is_complete(const json_t *result)
{
    return strcmp(json_member_string(result, "resultType", "complete"), "complete") == 0;
}

char *tool_reply_text(const json_t *message)
{
    json_t *result = json_object_get(message, "result");
    const json_t *error = json_object_get(message, "error");
    if (error && !result)
        return reply_of_error(error);
    if (!json_is_object(result))
        return tool_reply_error("the tool server's answer is malformed: it has no result");
    if (!is_complete(result))
        return tool_reply_error("the tool server wants more from its client than toolhost has");
    json_t *content = json_object_get(result, "content");
    json_t *structured = json_object_get(result, "structuredContent");
    if (content && !json_is_array(content))
        return tool_reply_error("the tool server's answer is malformed: content is no array");
    json_auto_t *none = json_array();
    json_auto_t *reply =
        json_pack("{s:O, s:O*, s:b}", "content", content ? content : none, "structured_content",
                  structured, "is_error", json_member_true(result, "isError"));
    CLEANUP_FREE char *text = json_compact(reply);
    if (text && strlen(text) > TOOL_REPLY_LIMIT)
        return tool_reply_error("the tool server's answer has more than 4 MiB");
    return TAKE_POINTER(text);
}
