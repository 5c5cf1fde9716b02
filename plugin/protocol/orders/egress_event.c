/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the message form of the broker's events. Runs in the plugin (decode) and in the broker
 * (encode), on any thread.
 */
#include "protocol/orders/egress_event.h"

#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "protocol/run_event.h"
#include "protocol/wire_fields.h"

#define STATUS_MAX 999

static const char *const decision_names[EGRESS_DECISION_COUNT] = {
#define X(constant, name) name,
    EGRESS_DECISIONS(X)
#undef X
};

const char *egress_decision_name(enum egress_decision decision)
{
    return decision_names[decision];
}

#define NUMBER(member, most)  WIRE_NUMBER(struct egress_event, member, most)
#define STRING(member, limit) WIRE_STRING(struct egress_event, member, limit)

static const struct wire_field fields[] = {
    NUMBER(type, EGRESS_EVENT_TYPE_COUNT - 1),
    STRING(text, EGRESS_TEXT_LIMIT),
    NUMBER(record.endpoint, UINT32_MAX),
    STRING(record.method, EGRESS_RECORD_METHOD_LIMIT),
    STRING(record.path, EGRESS_RECORD_PATH_LIMIT),
    WIRE_TEXT(struct egress_event, record.query_sha256),
    NUMBER(record.status, STATUS_MAX),
    NUMBER(record.decision, EGRESS_DECISION_COUNT - 1),
    STRING(record.reason, EGRESS_TEXT_LIMIT),
    NUMBER(record.bytes_in, INT64_MAX),
    NUMBER(record.bytes_out, INT64_MAX),
    NUMBER(record.duration_ms, INT64_MAX),
    NUMBER(totals.requests, INT64_MAX),
    NUMBER(totals.denied, INT64_MAX),
    NUMBER(totals.omitted, INT64_MAX),
    NUMBER(totals.bytes_in, INT64_MAX),
    NUMBER(totals.bytes_out, INT64_MAX),
    NUMBER(totals.between, INT64_MAX),
};

/* It reaches results and audit logs, so it is printable ASCII: the broker escapes other bytes. */
static bool is_printable(const char *text)
{
    for (; text && *text; text++)
        if (*text < 0x20 || *text > 0x7e)
            return false;
    return true;
}

static bool is_hash(const char *text)
{
    return text[0] == '\0' ||
           ascii_is_hex(text, sizeof(((struct egress_record *)0)->query_sha256) - 1);
}

static bool in_range(const struct egress_event *event)
{
    return event->type >= EGRESS_EVENT_READY && is_printable(event->text) &&
           is_printable(event->record.method) && is_printable(event->record.path) &&
           is_printable(event->record.reason) && is_hash(event->record.query_sha256);
}

size_t egress_event_encode(const struct egress_event *event,
                           unsigned char message[EGRESS_EVENT_MESSAGE_LIMIT])
{
    /* All the room there may be is there: an event must not be lost for want of memory. */
    struct wire_writer writer = {
        .bytes = message,
        .capacity = EGRESS_EVENT_MESSAGE_LIMIT,
        .limit = EGRESS_EVENT_MESSAGE_LIMIT,
    };
    wire_put_u32(&writer, PROTOCOL_VERSION);
    wire_put_fields(&writer, fields, COUNT_OF(fields), event);
    return writer.failed ? 0 : writer.length;
}

bool egress_event_decode(const unsigned char *message, size_t length, struct egress_event *ret)
{
    if (length > EGRESS_EVENT_MESSAGE_LIMIT)
        return false;
    struct wire_reader reader = {.bytes = message, .length = length};
    if (wire_get_u32(&reader) != PROTOCOL_VERSION)
        return false;
    struct egress_event event = {.type = 0};
    wire_get_fields(&reader, fields, COUNT_OF(fields), &event);
    if (reader.failed || reader.offset != length || !in_range(&event)) {
        egress_event_clear(&event);
        return false;
    }
    *ret = event;
    return true;
}

void egress_event_clear(struct egress_event *event)
{
    wire_release_fields(fields, COUNT_OF(fields), event);
    *event = (struct egress_event){.type = 0};
}
