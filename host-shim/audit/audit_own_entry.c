/* SPDX-License-Identifier: Apache-2.0 */
/* Writes and reads what an audit log says of itself. Any thread. */
#include "audit/audit_own_entry.h"

#include <string.h>

#include "base/json.h"

static char *take_text(json_t *object)
{
    char *text = json_compact(object);
    json_decref(object);
    return text;
}

char *audit_own_entry_mended(size_t torn_bytes, const char *torn_sha256)
{
    return take_text(json_pack("{s:s, s:I, s:s}", "event", "mended", "torn_bytes",
                               (json_int_t)torn_bytes, "torn_sha256", torn_sha256));
}

char *audit_own_entry_rotated(const char *previous_file)
{
    return take_text(json_pack("{s:s, s:s}", "event", "rotated", "previous_file", previous_file));
}

char *audit_own_entry_key_changed(const char *key_id)
{
    return take_text(
        json_pack("{s:s, s:s?}", "event", "key_changed", "key", key_id[0] ? key_id : NULL));
}

static bool has_event(const struct audit_entry *entry, const char *event)
{
    return strcmp(json_member_string(entry->log, "event", ""), event) == 0;
}

bool audit_own_entry_is_mending(const struct audit_entry *entry)
{
    return has_event(entry, "mended");
}

bool audit_own_entry_mends(const struct audit_entry *entry, size_t torn_bytes,
                           const char *torn_sha256)
{
    return has_event(entry, "mended") &&
           json_member_integer(entry->log, "torn_bytes", 0) == (json_int_t)torn_bytes &&
           strcmp(json_member_string(entry->log, "torn_sha256", ""), torn_sha256) == 0;
}

const char *audit_own_entry_previous_file(const struct audit_entry *entry)
{
    return has_event(entry, "rotated") ? json_member_string(entry->log, "previous_file", NULL)
                                       : NULL;
}

const char *audit_own_entry_next_key(const struct audit_entry *entry)
{
    return has_event(entry, "key_changed") ? json_member_string(entry->log, "key", "")
                                           : entry->key_id;
}
