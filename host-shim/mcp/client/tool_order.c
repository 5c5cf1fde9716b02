/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a provider's call. Pure code, any thread. */
#include "mcp/client/tool_order.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/json.h"
#include "mcp/client/tool_reply.h"

void tool_order_free(struct tool_order *order)
{
    json_decref(order->call);
    free(order->arguments);
    free(order->reply);
    free(order);
}

/* Behind the string that begins there. */
static const char *skip_string(const char *at)
{
    for (at++; *at != '"'; at++)
        at += *at == '\\';
    return at + 1;
}

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

/* Behind the object that begins there. */
static const char *skip_object(const char *at)
{
    size_t depth = 0;
    do {
        depth += *at == '{';
        depth -= *at == '}';
        at = *at == '"' ? skip_string(at) : at + 1;
    } while (depth > 0);
    return at;
}

/* Where the text of the member "arguments" begins, an object's. The call is JSON, without a member
 * twice; NULL: that member's name is not written plainly. */
static const char *find_arguments(const char *call_json)
{
    static const char name[] = "\"arguments\"";
    const char *at = strchr(call_json, '{') + 1;
    while (*at && *at != '}') {
        const char *next = *at == '"' ? skip_string(at) : *at == '{' ? skip_object(at) : at + 1;
        const char *colon = skip_blanks(next);
        if (*at == '"' && *colon == ':' && (size_t)(next - at) == strlen(name) &&
            memcmp(at, name, strlen(name)) == 0)
            return skip_blanks(colon + 1);
        at = next;
    }
    return NULL;
}

/* New. */
static char *copy_arguments(const char *call_json)
{
    const char *begin = find_arguments(call_json);
    char *text = begin ? strndup(begin, (size_t)(skip_object(begin) - begin)) : NULL;
    for (char *at = text; at && *(at += strcspn(at, "\r\n")) != '\0'; at++)
        *at = ' ';
    return text;
}

struct tool_order *tool_order_new(uint64_t token, const char *call_json)
{
    json_auto_t *call = provider_json_read(call_json);
    const char *name = json_member_string(call, "name", "");
    const char *dot = strchr(name, '.');
    json_int_t left_ms = json_member_integer(call, "deadline_ms", ORDER_DEADLINE_MS);
    if (!dot || left_ms < 0 || !json_is_object(json_object_get(call, "arguments")))
        return NULL;
    CLEANUP_FREE char *arguments = copy_arguments(call_json);
    struct tool_order *order = arguments ? calloc(1, sizeof(*order)) : NULL;
    if (!order)
        return NULL;
    *order = (struct tool_order){
        .token = token,
        .call = TAKE_POINTER(call),
        .name = name,
        .tool = dot + 1,
        .arguments = TAKE_POINTER(arguments),
        .deadline = monotonic_ms() + (uint64_t)left_ms + ORDER_GRACE_MS,
    };
    return order;
}

void tool_order_fail(struct tool_order *order, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (!order->reply)
        order->reply = tool_reply_error(text);
}
