/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the form of frames and of datagrams with attachments: see remote_frame.h. Runs in
 * code-execute-remote and code-execute-worker. */
#include "backends/remote/link/remote_frame.h"

#include "protocol/wire.h"

static const struct {
    uint32_t least, most; /* bytes of the payload */
    bool of_channel;
} kinds[REMOTE_KIND_END] = {
    [REMOTE_HELLO] = {1, REMOTE_PAYLOAD_LIMIT, false},
    [REMOTE_OFFER] = {1, REMOTE_PAYLOAD_LIMIT, true},
    [REMOTE_ANSWER] = {1, REMOTE_PAYLOAD_LIMIT, true},
    [REMOTE_DATAGRAM] = {3, REMOTE_DATAGRAM_HEAD(REMOTE_ATTACHMENTS_LIMIT) + REMOTE_DATAGRAM_LIMIT,
                         true},
    [REMOTE_DATA] = {1, REMOTE_PAYLOAD_LIMIT, true},
    [REMOTE_END] = {0, 0, true},
    [REMOTE_RESET] = {0, 0, true},
    [REMOTE_TAKEN] = {4, 4, true},
    [REMOTE_PING] = {0, 0, false},
    [REMOTE_PONG] = {0, 0, false},
    [REMOTE_CAPACITY] = {1, REMOTE_PAYLOAD_LIMIT, false},
    [REMOTE_DRAIN] = {0, 0, false},
    [REMOTE_BYE] = {0, REMOTE_PAYLOAD_LIMIT, false},
};

static struct wire_writer writer_of(unsigned char *bytes, size_t length)
{
    return (struct wire_writer){.bytes = bytes, .capacity = length, .limit = length};
}

void remote_header_put(unsigned char bytes[REMOTE_HEADER], const struct remote_header *header)
{
    struct wire_writer writer = writer_of(bytes, REMOTE_HEADER);
    const unsigned char kind = (unsigned char)header->kind;
    wire_put_u32(&writer, header->length);
    wire_put_raw(&writer, &kind, sizeof(kind));
    wire_put_u32(&writer, header->channel);
}

bool remote_header_read(const unsigned char bytes[REMOTE_HEADER], struct remote_header *ret)
{
    struct wire_reader reader = {.bytes = bytes, .length = REMOTE_HEADER};
    uint32_t length = wire_get_u32(&reader);
    unsigned int kind = bytes[reader.offset++];
    uint32_t channel = wire_get_u32(&reader);
    if (kind == 0 || kind >= REMOTE_KIND_END || length < kinds[kind].least ||
        length > kinds[kind].most || kinds[kind].of_channel != (channel != 0))
        return false;
    *ret = (struct remote_header){
        .length = length, .kind = (enum remote_kind)kind, .channel = channel};
    return true;
}

void remote_datagram_put_head(unsigned char *bytes, const struct remote_datagram *datagram)
{
    struct wire_writer writer = writer_of(bytes, REMOTE_DATAGRAM_HEAD(datagram->attachment_count));
    const unsigned char count[2] = {(unsigned char)datagram->attachment_count, 0};
    wire_put_raw(&writer, count, sizeof(count));
    for (size_t i = 0; i < datagram->attachment_count; i++) {
        const struct remote_attachment *attachment = &datagram->attachments[i];
        const unsigned char form = (unsigned char)attachment->form;
        wire_put_raw(&writer, &form, sizeof(form));
        wire_put_u32(&writer, attachment->channel);
        wire_put_u64(&writer, attachment->size);
    }
}

static bool read_attachment(struct wire_reader *reader, struct remote_attachment *ret)
{
    if (reader->length - reader->offset < REMOTE_ATTACHMENT_BYTES)
        return false;
    unsigned int form = reader->bytes[reader->offset++];
    ret->channel = wire_get_u32(reader);
    ret->size = wire_get_u64(reader);
    if (form == 0 || form >= REMOTE_FORM_END)
        return false;
    ret->form = (enum remote_form)form;
    return (form == REMOTE_NOTHING) == (ret->channel == 0) &&
           (form == REMOTE_CONTENT ? ret->size <= REMOTE_CONTENT_LIMIT : ret->size == 0);
}

bool remote_datagram_read(const unsigned char *payload, size_t length, struct remote_datagram *ret)
{
    struct remote_datagram datagram = {.attachment_count = 0};
    if (length < 2)
        return false;
    size_t count = payload[0] | (size_t)payload[1] << 8;
    struct wire_reader reader = {.bytes = payload, .length = length, .offset = 2};
    if (count > REMOTE_ATTACHMENTS_LIMIT)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!read_attachment(&reader, &datagram.attachments[i]))
            return false;
    datagram.attachment_count = count;
    datagram.bytes = payload + reader.offset;
    datagram.length = length - reader.offset;
    if (datagram.length == 0 || datagram.length > REMOTE_DATAGRAM_LIMIT)
        return false;
    *ret = datagram;
    return true;
}
