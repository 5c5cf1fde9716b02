/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the message form of a backend's parts. Runs in the plugin (decode) and in backends (encode),
 * on any thread.
 */
#include "backend_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "run_event.h"
#include "wire_fields.h"

#define HEAD_BYTES 12

#define TEXT(member)         WIRE_TEXT(struct backend_part, member)
#define NUMBER(member, most) WIRE_NUMBER(struct backend_part, member, most)

static const struct wire_field fields[] = {
    TEXT(name),
    TEXT(address),
    NUMBER(state, BACKEND_PART_STATE_COUNT - 1),
    TEXT(mode),
    NUMBER(runs, UINT32_MAX),
    NUMBER(slots, UINT32_MAX),
    TEXT(message),
    TEXT(remedy),
};

const char *backend_part_state_name(enum backend_part_state state)
{
    static const char *const names[BACKEND_PART_STATE_COUNT] = {
#define X(constant, name) name,
        BACKEND_PART_STATES(X)
#undef X
    };
    return names[state];
}

static void put_head(unsigned char *message, size_t total, size_t count)
{
    struct wire_writer writer = {.bytes = message, .capacity = HEAD_BYTES, .limit = HEAD_BYTES};
    wire_put_u32(&writer, PROTOCOL_VERSION);
    wire_put_u32(&writer, (uint32_t)total);
    wire_put_u32(&writer, (uint32_t)count);
}

size_t backend_parts_encode(const struct backend_part *parts, size_t count,
                            unsigned char message[BACKEND_PARTS_LIMIT])
{
    size_t length = HEAD_BYTES;
    size_t put = 0;
    for (; put < count && put < BACKEND_PARTS_MOST; put++) {
        struct wire_writer writer = {
            .bytes = message,
            .length = length,
            .capacity = BACKEND_PARTS_LIMIT,
            .limit = BACKEND_PARTS_LIMIT,
        };
        wire_put_fields(&writer, fields, COUNT_OF(fields), &parts[put]);
        if (writer.failed)
            break;
        length = writer.length;
    }
    put_head(message, count, put);
    return length;
}

bool backend_parts_decode(const unsigned char *message, size_t length, struct backend_parts *ret)
{
    struct wire_reader reader = {.bytes = message, .length = length};
    if (wire_get_u32(&reader) != PROTOCOL_VERSION)
        return false;
    CLEANUP(backend_parts_clear) struct backend_parts parts = {.total = wire_get_u32(&reader)};
    uint32_t count = wire_get_u32(&reader);
    if (reader.failed || count > BACKEND_PARTS_MOST || count > parts.total)
        return false;
    parts.parts = calloc(count + 1, sizeof(*parts.parts));
    if (!parts.parts)
        return false;
    for (; parts.count < count && !reader.failed; parts.count++)
        wire_get_fields(&reader, fields, COUNT_OF(fields), &parts.parts[parts.count]);
    if (reader.failed || reader.offset != length)
        return false;
    *ret = parts;
    parts = (struct backend_parts){.total = 0};
    return true;
}

void backend_parts_clear(struct backend_parts *parts)
{
    free(parts->parts);
    *parts = (struct backend_parts){.total = 0};
}
