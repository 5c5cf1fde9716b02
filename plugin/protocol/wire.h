/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Length-prefixed binary fields, little endian, with every bound checked: the alphabet of the
 * messages between plugin and backend. A reader or writer that has failed stays failed, so a
 * sequence of calls is checked once at its end. Pure code, any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Grows as needed up to limit bytes. Start with {.limit = N}; the bytes are the caller's to wipe
 * and free. With room of the caller's own for all of the limit it never grows. */
struct wire_writer {
    unsigned char *bytes;
    size_t length;
    size_t capacity;
    size_t limit;
    bool failed; /* out of memory, or over the limit */
};

/* The bytes alone, without a length: for texts of another form that want the same care. */
void wire_put_raw(struct wire_writer *writer, const void *bytes, size_t length);
void wire_put_u32(struct wire_writer *writer, uint32_t value);
void wire_put_u64(struct wire_writer *writer, uint64_t value);
void wire_put_bytes(struct wire_writer *writer, const void *bytes, size_t length);
void wire_put_string(struct wire_writer *writer, const char *string);
/* A NULL-terminated list; NULL is the empty list. */
void wire_put_strings(struct wire_writer *writer, char *const *strings);
/* The whole message, the caller's to wipe and free. NULL: the writer has failed, and what it wrote
 * is wiped and gone. Not for one with room of the caller's own. */
unsigned char *wire_take_message(struct wire_writer *writer, size_t *ret_length);

/* Bytes of a form that only writer and reader of that member know. */
struct wire_bytes {
    unsigned char *bytes; /* owned; NULL: none */
    size_t length;
};

struct wire_reader {
    const unsigned char *bytes;
    size_t length;
    size_t offset;
    bool failed; /* a field was not whole, too long, or not of its kind */
};

uint32_t wire_get_u32(struct wire_reader *reader);
uint64_t wire_get_u64(struct wire_reader *reader);
/* New copies of at most limit bytes or members, NULL when failed. Bytes get a NUL behind them,
 * which is not counted; a string with a NUL inside is a failure. */
unsigned char *wire_get_bytes(struct wire_reader *reader, size_t limit, size_t *ret_length);
char *wire_get_string(struct wire_reader *reader, size_t limit);
char **wire_get_strings(struct wire_reader *reader, size_t count_limit, size_t limit);

/* Wipes every string, then frees them and the list; NULL is fine. */
void strings_wipe_free(char **strings);
