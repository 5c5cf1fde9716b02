/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an audit log says of itself, the "log" member of a line:
 *   {"event":"mended","torn_bytes":N,"torn_sha256":"HEX"}  the bytes before this line, without the
 *       line break at their end, are what a crash or a full disk has left of a line
 *   {"event":"rotated","previous_file":"NAME"}  begins a file; the line before is in that one
 *   {"event":"key_changed","key":"ID"|null}  from the next line on this key signs (null: none)
 * Pure code, any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "audit/audit_line.h"

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
