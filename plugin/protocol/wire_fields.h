/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The members of a structure in the order of their message, one row each. Encoding, decoding, the
 * checks of single values and the release walk the same rows, so a new member is one line. Pure
 * code, any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire.h"

enum wire_kind {
    WIRE_KIND_NUMBER,  /* of 4 or 8 bytes; enumerations and signed numbers as they lie there */
    WIRE_KIND_TEXT,    /* characters in the structure itself, with their NUL */
    WIRE_KIND_STRING,  /* char *, new; NULL is written as "" */
    WIRE_KIND_STRINGS, /* char **, NULL-terminated, new; NULL is written as the empty list */
    WIRE_KIND_BYTES,   /* struct wire_bytes, new */
    WIRE_KIND_COUNTED, /* a uint32_t, and so many bytes of the array behind it */
};

struct wire_field {
    enum wire_kind kind;
    size_t offset;
    size_t size;    /* in the structure */
    uint64_t most;  /* the highest number; bytes of a text or of each string */
    size_t members; /* of a list, at most */
    bool absolute;  /* a string begins with "/" or is empty; those of a list begin with it */
};

#define WIRE_MEMBER(structure, member) offsetof(structure, member), sizeof(((structure *)0)->member)
#define WIRE_NUMBER(structure, member, most)                             \
    {                                                                    \
        WIRE_KIND_NUMBER, WIRE_MEMBER(structure, member), most, 0, false \
    }
#define WIRE_TEXT(structure, member)                                                             \
    {                                                                                            \
        WIRE_KIND_TEXT, WIRE_MEMBER(structure, member), sizeof(((structure *)0)->member) - 1, 0, \
            false                                                                                \
    }
#define WIRE_BYTES(structure, member, most)                             \
    {                                                                   \
        WIRE_KIND_BYTES, WIRE_MEMBER(structure, member), most, 0, false \
    }
#define WIRE_COUNTED(structure, member)                                   \
    {                                                                     \
        WIRE_KIND_COUNTED, WIRE_MEMBER(structure, member),                \
            sizeof(((structure *)0)->member) - sizeof(uint32_t), 0, false \
    }
#define WIRE_STRING(structure, member, most)                             \
    {                                                                    \
        WIRE_KIND_STRING, WIRE_MEMBER(structure, member), most, 0, false \
    }
#define WIRE_PATH(structure, member, most)                              \
    {                                                                   \
        WIRE_KIND_STRING, WIRE_MEMBER(structure, member), most, 0, true \
    }
#define WIRE_STRINGS(structure, member, members, most)                          \
    {                                                                           \
        WIRE_KIND_STRINGS, WIRE_MEMBER(structure, member), most, members, false \
    }
#define WIRE_PATHS(structure, member, members, most)                           \
    {                                                                          \
        WIRE_KIND_STRINGS, WIRE_MEMBER(structure, member), most, members, true \
    }

void wire_put_fields(struct wire_writer *writer, const struct wire_field *fields, size_t count,
                     const void *structure);
/* Into a structure of zeros; fails the reader at a value that its row does not take. The members
 * read until then are there, to be released. */
void wire_get_fields(struct wire_reader *reader, const struct wire_field *fields, size_t count,
                     void *structure);
/* A structure by itself: into *ret, whose bytes before it frees; false when out of memory, or where
 * it takes more than limit bytes. */
bool wire_write_structure(const struct wire_field *fields, size_t count, const void *structure,
                          size_t limit, struct wire_bytes *ret);
/* Into a structure of zeros. false where the bytes are no such structure, or more than one: nothing
 * of it is to be released. */
bool wire_read_structure(const struct wire_field *fields, size_t count,
                         const struct wire_bytes *bytes, void *structure);
/* Releases strings and bytes, and wipes the strings of lists; the pointers are NULL then. */
void wire_release_fields(const struct wire_field *fields, size_t count, void *structure);
