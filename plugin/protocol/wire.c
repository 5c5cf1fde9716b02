/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the byte format of the messages: u32 and u64 little endian, bytes and strings behind a u32
 * length, lists behind a u32 count. Runs in the plugin and in every backend, on any thread.
 */
#include "wire.h"

#include <string.h>

#include "base/cleanup.h"

/* Grows by copying into a new block and wiping the old one: realloc() would leave secrets behind.
 */
static bool reserve(struct wire_writer *writer, size_t length)
{
    if (writer->failed)
        return false;
    if (length > writer->limit || writer->length > writer->limit - length) {
        writer->failed = true;
        return false;
    }
    size_t needed = writer->length + length;
    if (needed <= writer->capacity)
        return true;
    size_t capacity = writer->capacity > 128 ? writer->capacity : 128;
    while (capacity < needed)
        capacity *= 2;
    unsigned char *bytes = malloc(capacity);
    if (!bytes) {
        writer->failed = true;
        return false;
    }
    if (writer->bytes) {
        memcpy(bytes, writer->bytes, writer->length);
        explicit_bzero(writer->bytes, writer->length);
        free(writer->bytes);
    }
    writer->bytes = bytes;
    writer->capacity = capacity;
    return true;
}

static void put_integer(struct wire_writer *writer, uint64_t value, size_t width)
{
    if (!reserve(writer, width))
        return;
    for (size_t i = 0; i < width; i++)
        writer->bytes[writer->length++] = (unsigned char)(value >> (8 * i));
}

void wire_put_raw(struct wire_writer *writer, const void *bytes, size_t length)
{
    if (length == 0 || !reserve(writer, length))
        return;
    memcpy(writer->bytes + writer->length, bytes, length);
    writer->length += length;
}

void wire_put_u32(struct wire_writer *writer, uint32_t value)
{
    put_integer(writer, value, sizeof(value));
}

void wire_put_u64(struct wire_writer *writer, uint64_t value)
{
    put_integer(writer, value, sizeof(value));
}

void wire_put_bytes(struct wire_writer *writer, const void *bytes, size_t length)
{
    if (length > UINT32_MAX) {
        writer->failed = true;
        return;
    }
    wire_put_u32(writer, (uint32_t)length);
    if (!length || !reserve(writer, length))
        return;
    memcpy(writer->bytes + writer->length, bytes, length);
    writer->length += length;
}

void wire_put_string(struct wire_writer *writer, const char *string)
{
    wire_put_bytes(writer, string, strlen(string));
}

void wire_put_strings(struct wire_writer *writer, char *const *strings)
{
    uint32_t count = 0;
    while (strings && strings[count])
        count++;
    wire_put_u32(writer, count);
    for (uint32_t i = 0; i < count; i++)
        wire_put_string(writer, strings[i]);
}

unsigned char *wire_take_message(struct wire_writer *writer, size_t *ret_length)
{
    unsigned char *bytes = TAKE_POINTER(writer->bytes);
    if (!writer->failed) {
        *ret_length = writer->length;
        return bytes;
    }
    if (bytes)
        explicit_bzero(bytes, writer->length);
    free(bytes);
    return NULL;
}

/* The next length bytes, or NULL with the reader failed. */
static const unsigned char *take(struct wire_reader *reader, size_t length)
{
    if (reader->failed || length > reader->length - reader->offset) {
        reader->failed = true;
        return NULL;
    }
    const unsigned char *bytes = reader->bytes + reader->offset;
    reader->offset += length;
    return bytes;
}

static uint64_t get_integer(struct wire_reader *reader, size_t width)
{
    const unsigned char *bytes = take(reader, width);
    uint64_t value = 0;
    for (size_t i = 0; bytes && i < width; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

uint32_t wire_get_u32(struct wire_reader *reader)
{
    return (uint32_t)get_integer(reader, sizeof(uint32_t));
}

uint64_t wire_get_u64(struct wire_reader *reader)
{
    return get_integer(reader, sizeof(uint64_t));
}

unsigned char *wire_get_bytes(struct wire_reader *reader, size_t limit, size_t *ret_length)
{
    size_t length = wire_get_u32(reader);
    if (length > limit)
        reader->failed = true;
    const unsigned char *bytes = take(reader, length);
    if (!bytes)
        return NULL;
    unsigned char *copy = malloc(length + 1);
    if (!copy) {
        reader->failed = true;
        return NULL;
    }
    memcpy(copy, bytes, length);
    copy[length] = '\0';
    *ret_length = length;
    return copy;
}

char *wire_get_string(struct wire_reader *reader, size_t limit)
{
    size_t length = 0;
    char *string = (char *)wire_get_bytes(reader, limit, &length);
    if (!string || !memchr(string, '\0', length))
        return string;
    reader->failed = true;
    explicit_bzero(string, length);
    free(string);
    return NULL;
}

char **wire_get_strings(struct wire_reader *reader, size_t count_limit, size_t limit)
{
    size_t count = wire_get_u32(reader);
    if (count > count_limit)
        reader->failed = true;
    if (reader->failed)
        return NULL;
    char **strings = calloc(count + 1, sizeof(*strings));
    if (!strings) {
        reader->failed = true;
        return NULL;
    }
    for (size_t i = 0; i < count && !reader->failed; i++)
        strings[i] = wire_get_string(reader, limit);
    if (reader->failed) {
        strings_wipe_free(strings);
        return NULL;
    }
    return strings;
}

void strings_wipe_free(char **strings)
{
    for (size_t i = 0; strings && strings[i]; i++) {
        explicit_bzero(strings[i], strlen(strings[i]));
        free(strings[i]);
    }
    free(strings);
}
