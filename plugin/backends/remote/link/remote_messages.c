/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the form of the messages about a connection and its runs: see remote_messages.h. Runs in
 * code-execute-remote and code-execute-worker. */
#include "backends/remote/link/remote_messages.h"

#include <string.h>

#include "backends/remote/link/remote_frame.h"
#include "base/utf8.h"
#include "protocol/run_description.h"
#include "protocol/run_event.h"
#include "protocol/wire.h"

static struct wire_writer writer_of(unsigned char *bytes)
{
    return (struct wire_writer){
        .bytes = bytes, .capacity = REMOTE_MESSAGE_LIMIT, .limit = REMOTE_MESSAGE_LIMIT};
}

static bool is_control(unsigned char byte)
{
    return byte < 0x20 || byte == 0x7f;
}

/* Makes a text that the other side accepts, so that no text can end the connection. */
static void put_text(struct wire_writer *writer, const char *text, size_t limit)
{
    const unsigned char *from = (const unsigned char *)text;
    size_t length = strnlen(text, limit + 1);
    unsigned char clean[REMOTE_REMEDY_LIMIT + 1];
    size_t count = 0;
    while (length > 0) {
        size_t sequence = utf8_sequence(from, length);
        size_t step = sequence > 0 ? sequence : 1;
        if (count + step > limit)
            break;
        memcpy(clean + count, from, step);
        if (sequence == 0 || is_control(*from))
            clean[count] = '?';
        from += step;
        length -= step;
        count += step;
    }
    wire_put_bytes(writer, clean, count);
}

static bool is_clean(const unsigned char *bytes, size_t length)
{
    while (length > 0) {
        size_t sequence = utf8_sequence(bytes, length);
        if (sequence == 0 || is_control(*bytes))
            return false;
        bytes += sequence;
        length -= sequence;
    }
    return true;
}

/* To ret, with room for a NUL behind limit bytes. */
static void get_text(struct wire_reader *reader, char *ret, size_t limit)
{
    size_t length = wire_get_u32(reader);
    const unsigned char *bytes = reader->bytes + reader->offset;
    if (reader->failed || length > limit || length > reader->length - reader->offset ||
        !is_clean(bytes, length)) {
        reader->failed = true;
        return;
    }
    memcpy(ret, bytes, length);
    ret[length] = '\0';
    reader->offset += length;
}

static bool is_whole(const struct wire_reader *reader)
{
    return !reader->failed && reader->offset == reader->length;
}

size_t remote_hello_encode(const struct remote_hello *hello,
                           unsigned char ret[REMOTE_MESSAGE_LIMIT])
{
    struct wire_writer writer = writer_of(ret);
    wire_put_raw(&writer, REMOTE_MAGIC, strlen(REMOTE_MAGIC));
    wire_put_u32(&writer, hello->link_version);
    wire_put_u32(&writer, hello->protocol_version);
    put_text(&writer, hello->name, REMOTE_NAME_LIMIT);
    put_text(&writer, hello->mode, REMOTE_MODE_LIMIT);
    wire_put_u64(&writer, hello->memory_bytes);
    wire_put_u32(&writer, hello->processors);
    wire_put_u32(&writer, hello->slots);
    return writer.length;
}

bool remote_hello_decode(const unsigned char *payload, size_t length, struct remote_hello *ret)
{
    const size_t magic = strlen(REMOTE_MAGIC);
    struct wire_reader reader = {.bytes = payload, .length = length, .offset = magic};
    struct remote_hello hello = {.name = ""};
    if (length < magic || memcmp(payload, REMOTE_MAGIC, magic) != 0)
        return false;
    hello.link_version = wire_get_u32(&reader);
    hello.protocol_version = wire_get_u32(&reader);
    if (reader.failed)
        return false;
    if (hello.link_version == REMOTE_LINK_VERSION && hello.protocol_version == PROTOCOL_VERSION) {
        get_text(&reader, hello.name, REMOTE_NAME_LIMIT);
        get_text(&reader, hello.mode, REMOTE_MODE_LIMIT);
        hello.memory_bytes = wire_get_u64(&reader);
        hello.processors = wire_get_u32(&reader);
        hello.slots = wire_get_u32(&reader);
        if (!is_whole(&reader))
            return false;
    }
    *ret = hello;
    return true;
}

size_t remote_offer_encode(const struct remote_offer *offer,
                           unsigned char ret[REMOTE_MESSAGE_LIMIT])
{
    struct wire_writer writer = writer_of(ret);
    wire_put_u32(&writer, offer->purpose);
    wire_put_u32(&writer, offer->is_session);
    wire_put_u64(&writer, offer->memory_bytes);
    wire_put_u64(&writer, offer->wall_ms);
    put_text(&writer, offer->principal, REMOTE_PRINCIPAL_LIMIT);
    return writer.length;
}

bool remote_offer_decode(const unsigned char *payload, size_t length, struct remote_offer *ret)
{
    struct wire_reader reader = {.bytes = payload, .length = length};
    struct remote_offer offer = {.principal = ""};
    offer.purpose = wire_get_u32(&reader);
    offer.is_session = wire_get_u32(&reader);
    offer.memory_bytes = wire_get_u64(&reader);
    offer.wall_ms = wire_get_u64(&reader);
    get_text(&reader, offer.principal, REMOTE_PRINCIPAL_LIMIT);
    if (!is_whole(&reader) || offer.purpose >= RUN_PURPOSE_COUNT || offer.is_session > 1)
        return false;
    *ret = offer;
    return true;
}

size_t remote_answer_encode(const struct remote_answer *answer,
                            unsigned char ret[REMOTE_MESSAGE_LIMIT])
{
    struct wire_writer writer = writer_of(ret);
    wire_put_u32(&writer, answer->verdict);
    wire_put_u64(&writer, answer->retry_after_ms);
    put_text(&writer, answer->reason, REMOTE_REASON_LIMIT);
    put_text(&writer, answer->remedy, REMOTE_REMEDY_LIMIT);
    return writer.length;
}

bool remote_answer_decode(const unsigned char *payload, size_t length, struct remote_answer *ret)
{
    struct wire_reader reader = {.bytes = payload, .length = length};
    struct remote_answer answer = {.reason = ""};
    answer.verdict = wire_get_u32(&reader);
    answer.retry_after_ms = wire_get_u64(&reader);
    get_text(&reader, answer.reason, REMOTE_REASON_LIMIT);
    get_text(&reader, answer.remedy, REMOTE_REMEDY_LIMIT);
    if (!is_whole(&reader) || answer.verdict == 0 || answer.verdict >= REMOTE_VERDICT_END)
        return false;
    *ret = answer;
    return true;
}

size_t remote_capacity_encode(const struct remote_capacity *capacity,
                              unsigned char ret[REMOTE_MESSAGE_LIMIT])
{
    struct wire_writer writer = writer_of(ret);
    wire_put_u32(&writer, capacity->runs);
    wire_put_u32(&writer, capacity->slots);
    wire_put_u64(&writer, capacity->memory_free_bytes);
    return writer.length;
}

bool remote_capacity_decode(const unsigned char *payload, size_t length,
                            struct remote_capacity *ret)
{
    struct wire_reader reader = {.bytes = payload, .length = length};
    struct remote_capacity capacity;
    capacity.runs = wire_get_u32(&reader);
    capacity.slots = wire_get_u32(&reader);
    capacity.memory_free_bytes = wire_get_u64(&reader);
    if (!is_whole(&reader))
        return false;
    *ret = capacity;
    return true;
}
