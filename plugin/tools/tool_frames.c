/* SPDX-License-Identifier: Apache-2.0 */
/* Reading calls and writing what goes back: see tool_frames.h. Runs in the gateway, on the thread
 * inside tool_invoke(). */
#include "tools/tool_frames.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "run/frame_reader.h"
#include "json/json_text.h"

size_t tool_call_frame_limit(size_t arguments_limit)
{
    return TOOL_CALL_HEADER + TOOL_NAME_LIMIT + arguments_limit;
}

static uint32_t read_number(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

static void write_number(uint32_t number, unsigned char *ret)
{
    for (size_t i = 0; i < 4; i++)
        ret[i] = (unsigned char)(number >> 8 * i);
}

/* It goes to approvers, logs and the gateway. */
static bool is_name(const unsigned char *bytes, size_t length)
{
    for (size_t i = 0; i < length;) {
        size_t sequence = utf8_sequence(bytes + i, length - i);
        if (sequence == 0 || bytes[i] < 0x20 || bytes[i] == 0x7F)
            return false;
        i += sequence;
    }
    return length > 0 && length <= TOOL_NAME_LIMIT;
}

bool tool_call_frame_read(const unsigned char *payload, size_t length, size_t arguments_limit,
                          struct tool_call_frame *ret, struct tool_refusal *ret_refusal)
{
    *ret = (struct tool_call_frame){.number = length < 4 ? 0 : read_number(payload)};
    size_t name_length =
        length < TOOL_CALL_HEADER ? 0 : (size_t)payload[4] | (size_t)payload[5] << 8;
    *ret_refusal = (struct tool_refusal){TOOL_ERROR_INVALID_ARGUMENTS, "the frame is not a call"};
    if (ret->number == 0 || length < TOOL_CALL_HEADER || name_length > length - TOOL_CALL_HEADER)
        return false;
    const unsigned char *name = payload + TOOL_CALL_HEADER;
    size_t arguments_length = length - TOOL_CALL_HEADER - name_length;
    *ret_refusal = (struct tool_refusal){TOOL_ERROR_UNKNOWN_TOOL, "no tool has such a name"};
    if (!is_name(name, name_length))
        return false;
    *ret_refusal = (struct tool_refusal){TOOL_ERROR_LIMIT_EXCEEDED, "the arguments are too long"};
    if (arguments_length > arguments_limit)
        return false;
    memcpy(ret->name, name, name_length);
    ret->arguments = (const char *)name + name_length;
    ret->arguments_length = arguments_length;
    return true;
}

static void write_header(enum tool_frame kind, size_t length,
                         unsigned char ret[FRAME_HEADER_LENGTH])
{
    write_number((uint32_t)length, ret);
    ret[4] = (unsigned char)kind;
}

void tool_answer_frame_header(uint32_t number, const struct tool_answer *answer,
                              unsigned char ret[TOOL_ANSWER_HEADER])
{
    size_t behind = TOOL_ANSWER_HEADER - FRAME_HEADER_LENGTH;
    write_header(TOOL_FRAME_ANSWER, behind + answer->length, ret);
    write_number(number, ret + FRAME_HEADER_LENGTH);
    ret[TOOL_ANSWER_HEADER - 1] = (unsigned char)answer->form;
}

static void write_tool(const struct tool_definition *tool, struct json_draft *draft)
{
    json_draft_open(draft, NULL, '{');
    json_draft_string(draft, "name", tool->name);
    json_draft_string(draft, "identifier", tool->identifier);
    if (tool->title)
        json_draft_string(draft, "title", tool->title);
    if (tool->description)
        json_draft_string(draft, "description", tool->description);
    json_draft_value(draft, "input_schema", json_incref(tool->input_schema));
    if (tool->output_schema)
        json_draft_value(draft, "output_schema", json_incref(tool->output_schema));
    json_draft_close(draft, '}');
}

unsigned char *tool_list_frame(const struct tool_list *tools, uint32_t max_in_flight,
                               size_t *ret_length)
{
    struct json_draft draft = {.order = JSON_ORDER_MADE_REAL};
    size_t length = 0;
    json_draft_open(&draft, NULL, '[');
    for (size_t i = 0; i < tools->count; i++)
        write_tool(&tools->items[i], &draft);
    json_draft_close(&draft, ']');
    CLEANUP_FREE char *text = json_draft_take(&draft, &length);
    size_t head = FRAME_HEADER_LENGTH + TOOL_TOOLS_HEADER;
    unsigned char *frame = text ? malloc(head + length) : NULL;
    if (!frame)
        return NULL;
    write_header(TOOL_FRAME_TOOLS, TOOL_TOOLS_HEADER + length, frame);
    write_number(max_in_flight, frame + FRAME_HEADER_LENGTH);
    memcpy(frame + head, text, length);
    *ret_length = head + length;
    return frame;
}
