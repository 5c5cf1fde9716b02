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
    free(order->reply);
    free(order);
}

struct tool_order *tool_order_new(uint64_t token, const char *call_json)
{
    json_auto_t *call = provider_json_read(call_json);
    const char *name = json_member_string(call, "name", "");
    const char *dot = strchr(name, '.');
    json_t *arguments = json_object_get(call, "arguments");
    json_int_t left_ms = json_member_integer(call, "deadline_ms", ORDER_DEADLINE_MS);
    struct tool_order *order =
        dot && json_is_object(arguments) && left_ms >= 0 ? calloc(1, sizeof(*order)) : NULL;
    if (!order)
        return NULL;
    *order = (struct tool_order){
        .token = token,
        .call = TAKE_POINTER(call),
        .name = name,
        .tool = dot + 1,
        .arguments = arguments,
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
