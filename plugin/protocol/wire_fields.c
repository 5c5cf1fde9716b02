/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the walks over rows: see wire_fields.h. Runs in the plugin and in every backend. */
#include "wire_fields.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static void put_number(struct wire_writer *writer, const struct wire_field *field,
                       const void *member)
{
    uint32_t number = 0;
    uint64_t long_number = 0;
    if (field->size == sizeof(number)) {
        memcpy(&number, member, sizeof(number));
        wire_put_u32(writer, number);
    } else {
        memcpy(&long_number, member, sizeof(long_number));
        wire_put_u64(writer, long_number);
    }
}

static void put_counted(struct wire_writer *writer, const struct wire_field *field,
                        const void *member)
{
    uint32_t length = 0;
    memcpy(&length, member, sizeof(length));
    if (length > field->most)
        writer->failed = true;
    else
        wire_put_bytes(writer, (const char *)member + sizeof(length), length);
}

void wire_put_fields(struct wire_writer *writer, const struct wire_field *fields, size_t count,
                     const void *structure)
{
    for (const struct wire_field *field = fields; field < fields + count; field++) {
        const void *member = (const char *)structure + field->offset;
        switch (field->kind) {
        case WIRE_KIND_NUMBER:
            put_number(writer, field, member);
            break;
        case WIRE_KIND_TEXT:
            wire_put_bytes(writer, member, strnlen(member, field->size - 1));
            break;
        case WIRE_KIND_STRING: {
            const char *string = *(char *const *)member;
            wire_put_string(writer, string ? string : "");
            break;
        }
        case WIRE_KIND_STRINGS:
            wire_put_strings(writer, *(char **const *)member);
            break;
        case WIRE_KIND_BYTES: {
            const struct wire_bytes *bytes = member;
            wire_put_bytes(writer, bytes->bytes, bytes->length);
            break;
        }
        case WIRE_KIND_COUNTED:
            put_counted(writer, field, member);
            break;
        }
    }
}

static void get_number(struct wire_reader *reader, const struct wire_field *field, void *member)
{
    uint64_t number = 0;
    if (field->size == sizeof(uint32_t)) {
        uint32_t short_number = wire_get_u32(reader);
        memcpy(member, &short_number, sizeof(short_number));
        number = short_number;
    } else {
        number = wire_get_u64(reader);
        memcpy(member, &number, sizeof(number));
    }
    if (number > field->most)
        reader->failed = true;
}

static void get_text(struct wire_reader *reader, const struct wire_field *field, char *member)
{
    CLEANUP_FREE char *value = wire_get_string(reader, field->most);
    if (value)
        memcpy(member, value, strlen(value) + 1);
}

static void get_string(struct wire_reader *reader, const struct wire_field *field, char **member)
{
    *member = wire_get_string(reader, field->most);
    if (*member && field->absolute && (*member)[0] != '/' && (*member)[0] != '\0')
        reader->failed = true;
}

static void get_strings(struct wire_reader *reader, const struct wire_field *field, char ***member)
{
    *member = wire_get_strings(reader, field->members, field->most);
    for (char *const *string = *member; string && *string; string++)
        if (field->absolute && (*string)[0] != '/')
            reader->failed = true;
}

static void get_counted(struct wire_reader *reader, const struct wire_field *field, void *member)
{
    size_t length = 0;
    CLEANUP_FREE unsigned char *bytes = wire_get_bytes(reader, field->most, &length);
    uint32_t count = (uint32_t)length;
    if (!bytes)
        return;
    memcpy(member, &count, sizeof(count));
    memcpy((char *)member + sizeof(count), bytes, length);
}

void wire_get_fields(struct wire_reader *reader, const struct wire_field *fields, size_t count,
                     void *structure)
{
    for (const struct wire_field *field = fields; field < fields + count; field++) {
        void *member = (char *)structure + field->offset;
        switch (field->kind) {
        case WIRE_KIND_NUMBER:
            get_number(reader, field, member);
            break;
        case WIRE_KIND_TEXT:
            get_text(reader, field, member);
            break;
        case WIRE_KIND_STRING:
            get_string(reader, field, member);
            break;
        case WIRE_KIND_STRINGS:
            get_strings(reader, field, member);
            break;
        case WIRE_KIND_BYTES: {
            struct wire_bytes *bytes = member;
            bytes->bytes = wire_get_bytes(reader, field->most, &bytes->length);
            break;
        }
        case WIRE_KIND_COUNTED:
            get_counted(reader, field, member);
            break;
        }
    }
}

void wire_release_fields(const struct wire_field *fields, size_t count, void *structure)
{
    for (const struct wire_field *field = fields; field < fields + count; field++) {
        void *member = (char *)structure + field->offset;
        if (field->kind == WIRE_KIND_STRING)
            free(TAKE_POINTER(*(char **)member));
        else if (field->kind == WIRE_KIND_BYTES)
            free(TAKE_POINTER(((struct wire_bytes *)member)->bytes));
        else if (field->kind == WIRE_KIND_STRINGS)
            strings_wipe_free(TAKE_POINTER(*(char ***)member));
    }
}

bool wire_write_structure(const struct wire_field *fields, size_t count, const void *structure,
                          size_t limit, struct wire_bytes *ret)
{
    struct wire_writer writer = {.limit = limit};
    wire_put_fields(&writer, fields, count, structure);
    struct wire_bytes written = {0};
    written.bytes = wire_take_message(&writer, &written.length);
    if (writer.failed)
        return false;
    free(ret->bytes);
    *ret = written;
    return true;
}

bool wire_read_structure(const struct wire_field *fields, size_t count,
                         const struct wire_bytes *bytes, void *structure)
{
    struct wire_reader reader = {.bytes = bytes->bytes, .length = bytes->length};
    wire_get_fields(&reader, fields, count, structure);
    if (!reader.failed && reader.offset == reader.length)
        return true;
    wire_release_fields(fields, count, structure);
    return false;
}
