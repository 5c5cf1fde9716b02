/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes the values of secrets out of a run's output before it is kept, shown or cut: as they are,
 * and as they look in JSON, percent-, hexadecimal and base64 encoding (at each of the three byte
 * offsets), and in literals of Python, Node, shells and HTML. A value split over two reads is
 * found; values that overlap become one. Best effort, and documented as such: a program can always
 * transform a secret. Pure code; owned by one call.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/locked_memory.h"

/* Values shorter than this are not looked for: they would redact innocent text. */
#define REDACTION_MINIMUM 4

struct redaction; /* the patterns of one call's secrets */

/* A new, empty set; NULL when out of memory. */
struct redaction *redaction_new(void);
/* Wipes the patterns. NULL is fine. */
void redaction_free(struct redaction *redaction);
/* Looks for value from now on; output shows "[redacted:NAME]" in its place. false with
 * OUT_OF_MEMORY, or INVALID_INPUT where the values of all secrets have too many lines to be looked
 * for. */
bool redaction_add(struct redaction *redaction, const char *name, const void *value, size_t length,
                   struct error *error);
/* Nothing to look for? */
bool redaction_empty(const struct redaction *redaction);

/* Where clean bytes go. */
typedef void redaction_sink(void *user, const void *bytes, size_t length);

/* A text that is there as a whole, without a copy of it; not where there is nothing to look for.
 * Returns how many values were taken out. */
size_t redaction_whole(const struct redaction *redaction, const void *bytes, size_t length,
                       redaction_sink *sink, void *user);

/* One stream's state: bytes held back because a value may begin in them. */
struct redaction_stream {
    const struct redaction *redaction; /* borrowed */
    struct locked_memory held;         /* and room for more */
    size_t held_length;
    size_t covered; /* how many of them belong to a value that was replaced already */
    size_t found;   /* how many values were taken out */
};

/* Passes on the bytes that are certainly clean, holds back less than the longest pattern. When out
 * of memory the bytes are dropped and "[output lost: out of memory]" is passed on instead: never an
 * unchecked byte. */
void redaction_feed(struct redaction_stream *stream, const void *bytes, size_t length,
                    redaction_sink *sink, void *user);
/* The same without a copy: room for length bytes, NULL when out of memory, valid until the next
 * call with this stream; then at most that many that were put there. Not where there is nothing to
 * look for. */
void *redaction_room(struct redaction_stream *stream, size_t length);
void redaction_take(struct redaction_stream *stream, size_t length, redaction_sink *sink,
                    void *user);
/* Passes on what no value can begin with, of the bytes that are held back: where somebody waits for
 * them, and more may not come soon. */
void redaction_release(struct redaction_stream *stream, redaction_sink *sink, void *user);
/* Passes on the rest, at the end of the stream. */
void redaction_flush(struct redaction_stream *stream, redaction_sink *sink, void *user);
void redaction_stream_clear(struct redaction_stream *stream);
