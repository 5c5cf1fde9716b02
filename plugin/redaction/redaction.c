/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding secrets in output. Runs in the gateway, on the thread inside tool_invoke().
 *
 * S. Wu, U. Manber, "A fast algorithm for multi-pattern searching" (TR 94-17, University of
 * Arizona, 1994): of every pattern the first bytes are looked for, as many as the shortest has. The
 * last three of such a window say by a table how far the next place is at which a pattern can
 * begin; only where that is here are patterns compared, longest first. The table is by hash: two
 * that fall together cost time and hide nothing.
 */
#include "redaction/redaction.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/locked_memory.h"
#include "redaction/redaction_encoding.h"

#define PATTERNS_LIMIT 2048
#define WINDOW_LIMIT   32 /* bytes; a wider one fills the table, and skips no more */
#define BLOCK_BYTES    3  /* of a window's end, that are looked up */
#define TABLE_BITS     14
#define TABLE_SIZE     (1u << TABLE_BITS)
#define ARENA_BYTES    16384 /* at least, of one block for the patterns' bytes */

/* Patterns' bytes, in locked memory that holds this too. */
struct arena {
    struct locked_memory memory;
    struct arena *next;
    size_t used;
    unsigned char bytes[];
};

struct pattern {
    const unsigned char *bytes; /* in an arena, as is the label */
    const char *label;
    size_t length;
    uint16_t next; /* index + 1 of one that is no longer and has the same end of its window */
};

struct redaction {
    struct pattern patterns[PATTERNS_LIMIT]; /* longest first */
    size_t count;
    size_t longest;
    size_t window; /* bytes of each pattern's beginning that the tables know */
    struct arena *arenas;
    uint8_t skips[TABLE_SIZE];  /* places to go on by; 0: the patterns of first are compared */
    uint16_t first[TABLE_SIZE]; /* index + 1 of the longest */
};

struct redaction *redaction_new(void)
{
    return calloc(1, sizeof(struct redaction));
}

void redaction_free(struct redaction *redaction)
{
    if (!redaction)
        return;
    while (redaction->arenas) {
        struct arena *arena = redaction->arenas;
        redaction->arenas = arena->next;
        struct locked_memory memory = arena->memory; /* which is where it stands */
        locked_memory_clear(&memory);
    }
    explicit_bzero(redaction, sizeof(*redaction));
    free(redaction);
}

bool redaction_empty(const struct redaction *redaction)
{
    return !redaction || redaction->count == 0;
}

/* NULL when out of memory. */
static void *copy_to_arena(struct redaction *redaction, const void *bytes, size_t length)
{
    struct arena *arena = redaction->arenas;
    if (!arena || arena->memory.capacity - sizeof(*arena) - arena->used < length) {
        struct locked_memory memory;
        size_t wanted = sizeof(*arena) + length;
        if (locked_memory_get(wanted > ARENA_BYTES ? wanted : ARENA_BYTES, &memory) != 0)
            return NULL;
        arena = (struct arena *)memory.bytes;
        *arena = (struct arena){.memory = memory, .next = redaction->arenas};
        redaction->arenas = arena;
    }
    unsigned char *copy = arena->bytes + arena->used;
    memcpy(copy, bytes, length);
    arena->used += length;
    return copy;
}

static bool known_pattern(const struct redaction *redaction, const void *bytes, size_t length)
{
    for (size_t i = 0; i < redaction->count; i++)
        if (redaction->patterns[i].length == length &&
            memcmp(redaction->patterns[i].bytes, bytes, length) == 0)
            return true;
    return false;
}

/* The forms of one secret on their way into the patterns. */
struct addition {
    struct redaction *redaction;
    const char *label;
    bool too_many;
};

static bool add_pattern(void *user, const void *bytes, size_t length)
{
    struct addition *addition = user;
    struct redaction *redaction = addition->redaction;
    if (length < REDACTION_MINIMUM || known_pattern(redaction, bytes, length))
        return true;
    addition->too_many = redaction->count == PATTERNS_LIMIT;
    if (addition->too_many)
        return false;
    struct pattern pattern = {.label = addition->label, .length = length};
    pattern.bytes = copy_to_arena(redaction, bytes, length);
    if (!pattern.bytes)
        return false;
    size_t place = redaction->count;
    while (place > 0 && redaction->patterns[place - 1].length < length) {
        redaction->patterns[place] = redaction->patterns[place - 1];
        place--;
    }
    redaction->patterns[place] = pattern;
    redaction->count++;
    return true;
}

/* Of BLOCK_BYTES bytes. */
static inline uint32_t hash_block(const unsigned char *block)
{
    uint32_t value = (uint32_t)block[0] << 16 | (uint32_t)block[1] << 8 | block[2];
    return value * UINT32_C(2654435761) >> (32 - TABLE_BITS);
}

static void make_tables(struct redaction *redaction)
{
    const struct pattern *shortest = &redaction->patterns[redaction->count - 1];
    redaction->longest = redaction->patterns[0].length;
    redaction->window = shortest->length < WINDOW_LIMIT ? shortest->length : WINDOW_LIMIT;
    size_t last = redaction->window - BLOCK_BYTES;
    memset(redaction->skips, (int)(last + 1), sizeof(redaction->skips));
    memset(redaction->first, 0, sizeof(redaction->first));
    for (size_t i = redaction->count; i-- > 0;) {
        struct pattern *pattern = &redaction->patterns[i];
        for (size_t at = 0; at <= last; at++) {
            uint8_t *skip = &redaction->skips[hash_block(pattern->bytes + at)];
            if (*skip > last - at)
                *skip = (uint8_t)(last - at);
        }
        uint16_t *first = &redaction->first[hash_block(pattern->bytes + last)];
        pattern->next = *first;
        *first = (uint16_t)(i + 1);
    }
}

/* The name is a handle's: it fits. */
static const char *make_label(struct redaction *redaction, const char *name)
{
    char label[160];
    (void)snprintf(label, sizeof(label), "[redacted:%s]", name);
    return copy_to_arena(redaction, label, strlen(label) + 1);
}

bool redaction_add(struct redaction *redaction, const char *name, const void *value, size_t length,
                   struct error *error)
{
    if (length < REDACTION_MINIMUM)
        return true;
    CLEANUP(locked_memory_clear) struct locked_memory scratch = {0};
    struct addition addition = {.redaction = redaction, .label = make_label(redaction, name)};
    bool added = addition.label &&
                 locked_memory_get(REDACTION_SCRATCH_BYTES(length), &scratch) == 0 &&
                 redaction_encode(value, length, (char *)scratch.bytes, add_pattern, &addition);
    if (added)
        make_tables(redaction);
    else if (addition.too_many)
        error_set(error, ERROR_INVALID_INPUT,
                  "the secret %s has too many lines to be redacted from the output", name);
    else
        error_set_errno(error, ERROR_OUT_OF_MEMORY, errno, "no memory for the secret %s", name);
    return added;
}

/* The longest pattern of the list that starts here and has more than covered bytes. */
static const struct pattern *match_at(const struct redaction *redaction, size_t list,
                                      const unsigned char *bytes, size_t length, size_t covered)
{
    while (list > 0) {
        const struct pattern *pattern = &redaction->patterns[list - 1];
        if (pattern->length <= covered)
            return NULL;
        if (pattern->length <= length && memcmp(pattern->bytes, bytes, pattern->length) == 0)
            return pattern;
        list = pattern->next;
    }
    return NULL;
}

/* The next place before end, from at on, where a pattern can begin. */
static inline size_t next_candidate(const struct redaction *redaction, const unsigned char *bytes,
                                    size_t at, size_t end)
{
    const unsigned char *block = bytes + redaction->window - BLOCK_BYTES;
    while (at < end) {
        size_t skip = redaction->skips[hash_block(block + at)];
        if (skip == 0)
            return at;
        at += skip;
    }
    return end;
}

/* Passes on bytes[0..certain), replacing the values that start there. Values that overlap are one:
 * the end of the second is as secret as the first. One that reaches beyond certain is finished by
 * the next scan. */
static void scan(struct redaction_stream *stream, size_t length, size_t certain,
                 redaction_sink *sink, void *user)
{
    const struct redaction *redaction = stream->redaction;
    const unsigned char *bytes = stream->held.bytes;
    size_t done = stream->covered; /* passed on, or part of a value */
    size_t end = length < redaction->window ? 0 : length - redaction->window + 1;
    if (end > certain)
        end = certain;
    for (size_t i = 0; (i = next_candidate(redaction, bytes, i, end)) < end; i++) {
        bool inside = i < stream->covered;
        size_t list = redaction->first[hash_block(bytes + i + redaction->window - BLOCK_BYTES)];
        const struct pattern *pattern =
            match_at(redaction, list, bytes + i, length - i, inside ? stream->covered - i : 0);
        if (!pattern)
            continue;
        if (i > done)
            sink(user, bytes + done, i - done);
        if (!inside) {
            sink(user, pattern->label, strlen(pattern->label));
            stream->found++;
        }
        stream->covered = i + pattern->length;
        done = stream->covered;
    }
    if (certain > done)
        sink(user, bytes + done, certain - done);
    stream->covered = stream->covered > certain ? stream->covered - certain : 0;
}

void *redaction_room(struct redaction_stream *stream, size_t length)
{
    if (stream->held.capacity - stream->held_length < length) {
        struct locked_memory larger;
        if (locked_memory_get(stream->redaction->longest + length, &larger) != 0)
            return NULL;
        if (stream->held_length > 0)
            memcpy(larger.bytes, stream->held.bytes, stream->held_length);
        locked_memory_clear(&stream->held);
        stream->held = larger;
    }
    return stream->held.bytes + stream->held_length;
}

void redaction_take(struct redaction_stream *stream, size_t length, redaction_sink *sink,
                    void *user)
{
    size_t total = stream->held_length + length;
    size_t keep = stream->redaction->longest - 1;
    size_t certain = total > keep ? total - keep : 0;
    scan(stream, total, certain, sink, user);
    memmove(stream->held.bytes, stream->held.bytes + certain, total - certain);
    stream->held_length = total - certain;
    vector_registers_wipe();
}

void redaction_feed(struct redaction_stream *stream, const void *bytes, size_t length,
                    redaction_sink *sink, void *user)
{
    static const char lost[] = "[output lost: out of memory]";
    if (redaction_empty(stream->redaction)) {
        sink(user, bytes, length);
        return;
    }
    void *room = redaction_room(stream, length);
    if (!room) {
        redaction_stream_clear(stream); /* the held bytes may be the first half of a value */
        stream->covered = stream->redaction->longest - 1; /* and what comes the second */
        sink(user, lost, sizeof(lost) - 1);
        return;
    }
    memcpy(room, bytes, length);
    redaction_take(stream, length, sink, user);
}

/* Whether a value may begin with these bytes and go on behind them. */
static bool begins_value(const struct redaction *redaction, const unsigned char *bytes,
                         size_t length)
{
    for (size_t i = 0; i < redaction->count && redaction->patterns[i].length > length; i++)
        if (memcmp(redaction->patterns[i].bytes, bytes, length) == 0)
            return true;
    return false;
}

void redaction_release(struct redaction_stream *stream, redaction_sink *sink, void *user)
{
    size_t total = stream->held_length;
    size_t certain = 0;
    while (certain < total &&
           !begins_value(stream->redaction, stream->held.bytes + certain, total - certain))
        certain++;
    if (certain == 0)
        return;
    scan(stream, total, certain, sink, user);
    memmove(stream->held.bytes, stream->held.bytes + certain, total - certain);
    stream->held_length = total - certain;
    vector_registers_wipe();
}

void redaction_flush(struct redaction_stream *stream, redaction_sink *sink, void *user)
{
    if (stream->held_length > 0)
        scan(stream, stream->held_length, stream->held_length, sink, user);
    redaction_stream_clear(stream);
}

size_t redaction_whole(const struct redaction *redaction, const void *bytes, size_t length,
                       redaction_sink *sink, void *user)
{
    struct redaction_stream stream = {
        .redaction = redaction,
        .held = {.bytes = (unsigned char *)(uintptr_t)bytes}, /* only read */
    };
    scan(&stream, length, length, sink, user);
    vector_registers_wipe();
    return stream.found;
}

void redaction_stream_clear(struct redaction_stream *stream)
{
    locked_memory_clear(&stream->held);
    stream->held_length = 0;
    stream->covered = 0;
}
