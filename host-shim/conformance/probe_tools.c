/* SPDX-License-Identifier: Apache-2.0 */
/* The probe's tool. On the thread of the call, and one that answers later. */
#include "conformance/probe_tools.h"

#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"

#define LATER_BY_US 20000

static const char arguments[] = "\"arguments\":{}}";

/* The arguments come last, in the program's own bytes. */
static bool is_as_described(const char *call_json)
{
    json_auto_t *call = json_loads(call_json, JSON_REJECT_DUPLICATES, NULL);
    size_t length = strlen(call_json);
    return length > sizeof(arguments) &&
           strcmp(call_json + length - (sizeof(arguments) - 1), arguments) == 0 &&
           strcmp(json_member_string(call, "name", ""), PROBE_TOOL_NAME) == 0 &&
           *json_member_string(call, "run_id", "") && json_member_integer(call, "seq", 0) > 0 &&
           json_member_integer(call, "deadline_ms", 0) > 0 &&
           *json_member_string(call, "call_sha256", "") && json_object_get(call, "principal") &&
           json_object_get(call, "session");
}

static void reply(struct probe_tools *tools)
{
    for (unsigned i = 0; i < tools->reply_times && i < COUNT_OF(tools->reply_codes); i++)
        tools->reply_codes[i] = tools->reply_call(tools->token, tools->reply, tools->reply_length);
}

static void *reply_later(void *argument)
{
    (void)usleep(LATER_BY_US); /* so that the callback has returned */
    reply(argument);
    return NULL;
}

void probe_tools_call(struct probe_tools *tools, uint64_t token, const char *call_json,
                      uint32_t *verdict)
{
    tools->asked++;
    tools->token = token;
    tools->wrong |= !call_json || !is_as_described(call_json);
    if (tools->answer == PROBE_TOOL_INSIDE)
        reply(tools);
    if (tools->answer == PROBE_TOOL_LATER && !tools->has_thread)
        tools->has_thread = pthread_create(&tools->thread, NULL, reply_later, tools) == 0;
    *verdict = tools->verdict;
}

void probe_tools_cancel(struct probe_tools *tools, uint64_t token)
{
    if (token == tools->token)
        tools->cancelled++;
    else
        tools->cancelled_another = true;
}

void probe_tools_clear(struct probe_tools *tools)
{
    if (tools->has_thread)
        (void)pthread_join(tools->thread, NULL);
    tools->has_thread = false;
}
