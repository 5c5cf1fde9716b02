/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line of the audit log:
 *   {"seq":N,"time":"…","prev_sha256":"HEX","record":{…},"sha256":"HEX"}
 * where sha256 is that of the line's own text before ,"sha256" and prev_sha256 that of the line
 * before (64 zeros in the first). In a signed log ,"key":"ID","hmac_sha256":"HEX" stands before
 * ,"sha256": the HMAC of the text before ,"hmac_sha256". What the log says of itself is in "log"
 * instead of "record". Written and checked here, so that both agree. Pure code, any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/failure.h"
#include "base/hmac_key.h"

#define AUDIT_RECORD_LIMIT (1u << 20)
#define AUDIT_LINE_LIMIT   (AUDIT_RECORD_LIMIT + 1024u) /* with its line break */

/* The end of the chain that a line is attached to. */
struct audit_link {
    uint64_t seq; /* 0: there is no line yet */
    char sha256[SHA256_HEX + 1];
};

enum audit_signature {
    AUDIT_UNSIGNED,
    AUDIT_SIGNED,         /* by a key that is here */
    AUDIT_SIGNED_UNKNOWN, /* by a key that is not here: not checked */
};

/* A line that is whole: its own text has its hash. Whether it stands in its place is not said. */
struct audit_entry {
    struct audit_link link;
    char previous[SHA256_HEX + 1];
    char key_id[HMAC_KEY_ID + 1]; /* "": not signed */
    enum audit_signature signature;
    json_t *json;         /* owned */
    const char *time;     /* into json, as the two below */
    const json_t *record; /* NULL where the log speaks of itself */
    const json_t *log;    /* else NULL */
};

#define AUDIT_KEYS_MOST 8u

/* Keys that may have signed; those that are NULL are none. Borrowed. */
struct audit_keys {
    const struct hmac_key *keys[AUDIT_KEYS_MOST];
};

/* The link before the first line. */
struct audit_link audit_link_none(void);
/* Moves the link to a line that audit_line_make() has put behind it. */
void audit_link_advance(struct audit_link *link, const char *line, size_t length);

/* The line, with its line break, that holds the object behind previous: as "record", or as "log"
 * where of_log is set. key: NULL for a log that is not signed. */
bool audit_line_make(const struct audit_link *previous, const char *object_json, bool of_log,
                     const struct hmac_key *key, char **ret_line, size_t *ret_length,
                     struct failure *failure);

/* Checks a line (without its line break) by itself: form, own hash, signature where its key is
 * among keys. false fills the failure with what is wrong (code audit_broken; out_of_memory). */
bool audit_line_check(const char *line, size_t length, const struct audit_keys *keys,
                      struct audit_entry *ret, struct failure *failure);
/* Only that: such a line was written as a whole, whatever else is wrong with it. */
bool audit_line_has_its_hash(const char *line, size_t length);
void audit_entry_clear(struct audit_entry *entry);

/*
 * What an audit log says of itself, the "log" member of a line:
 *   {"event":"mended","torn_bytes":N,"torn_sha256":"HEX"}  the bytes before this line, without the
 *       line break at their end, are what a crash or a full disk has left of a line
 *   {"event":"rotated","previous_file":"NAME"}  begins a file; the line before is in that one
 *   {"event":"key_changed","key":"ID"|null}  from the next line on this key signs (null: none)
 */

/* New texts; NULL when out of memory (or where a file's name is not UTF-8). */
char *audit_own_entry_mended(size_t torn_bytes, const char *torn_sha256);
char *audit_own_entry_rotated(const char *previous_file);
char *audit_own_entry_key_changed(const char *key_id);

/* Does the entry mend these bytes? */
bool audit_own_entry_mends(const struct audit_entry *entry, size_t torn_bytes,
                           const char *torn_sha256);
bool audit_own_entry_is_mending(const struct audit_entry *entry);
/* The file that the entry continues; NULL where it continues none. Borrowed. */
const char *audit_own_entry_previous_file(const struct audit_entry *entry);
/* The id of the key that has to sign the line behind the entry; "": none. Borrowed. */
const char *audit_own_entry_next_key(const struct audit_entry *entry);
