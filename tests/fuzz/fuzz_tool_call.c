/* SPDX-License-Identifier: Apache-2.0 */
/* The frame of a program's call: what is read, put together again, is the payload; and what is
 * refused is no call by a plain reading. */
#include "base/utf8.h"
#include "fuzz.h"
#include "tools/tool_frames.h"

#define ARGUMENTS_LIMIT 64

static bool is_name(const uint8_t *bytes, size_t length)
{
    bool good = length > 0 && length <= 128;
    for (size_t i = 0; i < length; i++)
        good = good && bytes[i] >= 0x20 && bytes[i] != 0x7F;
    for (size_t i = 0; good && i < length;) {
        size_t sequence = utf8_sequence(bytes + i, length - i);
        good = sequence > 0;
        i += sequence;
    }
    return good;
}

static bool is_call(const uint8_t *payload, size_t length)
{
    if (length < 6 || !(payload[0] | payload[1] | payload[2] | payload[3]))
        return false;
    size_t name = payload[4] + 256u * payload[5];
    return 6 + name <= length && is_name(payload + 6, name) && length - 6 - name <= ARGUMENTS_LIMIT;
}

static void must_say(const struct tool_call_frame *call, const uint8_t *payload, size_t length)
{
    size_t name = strlen(call->name);
    MUST(length == 6 + name + call->arguments_length);
    MUST(payload[4] == name && payload[5] == 0 && memcmp(payload + 6, call->name, name) == 0);
    MUST(call->arguments == (const char *)payload + 6 + name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *payload = fuzz_exact(data, size);
    struct tool_call_frame call;
    struct tool_refusal refusal = {.code = TOOL_ERROR_COUNT};
    bool is_good = tool_call_frame_read(payload, size, ARGUMENTS_LIMIT, &call, &refusal);
    MUST(is_good == is_call(payload, size));
    for (size_t i = 0; i < 4; i++)
        MUST((uint8_t)(call.number >> 8 * i) == (size < 4 ? 0 : payload[i]));
    if (is_good)
        must_say(&call, payload, size);
    else
        MUST(refusal.code < TOOL_ERROR_COUNT && refusal.message);
    free(payload);
    return 0;
}
