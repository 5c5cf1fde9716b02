/* SPDX-License-Identifier: Apache-2.0 */
/* Writes and checks one line of the hash-chained audit log. Pure code, any thread. */
#include "audit/audit_line.h"

#include <string.h>
#include <time.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/json.h"

#define HASH_BEGIN  ",\"sha256\":\""
#define HMAC_BEGIN  ",\"hmac_sha256\":\""
#define TAIL_END    "\"}"
#define HASH_LENGTH (sizeof(HASH_BEGIN) - 1 + SHA256_HEX + sizeof(TAIL_END) - 1)
#define HMAC_LENGTH (sizeof(HMAC_BEGIN) - 1 + SHA256_HEX + 1) /* with its closing quote */

#define TIME_LIMIT 64u

struct audit_link audit_link_none(void)
{
    struct audit_link none = {0};
    memset(none.sha256, '0', SHA256_HEX);
    return none;
}

void audit_link_advance(struct audit_link *link, const char *line, size_t length)
{
    const char *line_end = line + length - 1;
    link->seq++;
    memcpy(link->sha256, line_end - (sizeof(TAIL_END) - 1) - SHA256_HEX, SHA256_HEX);
}

static void now_rfc3339(char ret_text[TIME_LIMIT])
{
    struct timespec now;
    struct tm parts;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &parts);
    size_t length = strftime(ret_text, TIME_LIMIT, "%Y-%m-%dT%H:%M:%S", &parts);
    (void)snprintf(ret_text + length, TIME_LIMIT - length, ".%03ldZ", now.tv_nsec / 1000000);
}

/* Written anew, so that no line break or second member of the same name gets into the log. */
static char *compact_object(const char *object_json, struct failure *failure)
{
    json_auto_t *object = provider_json_read(object_json);
    if (!json_is_object(object)) {
        (void)failure_set(failure, "audit_unavailable",
                          "the provider's audit record is no JSON object");
        return NULL;
    }
    char *text = json_compact(object);
    if (!text)
        (void)failure_out_of_memory(failure);
    return text;
}

/* All before the signature and the hash. */
static char *begin_line(const struct audit_link *previous, const char *name, const char *object,
                        const struct hmac_key *key)
{
    char time_text[TIME_LIMIT];
    char *text = NULL;
    now_rfc3339(time_text);
    int length =
        asprintf(&text, "{\"seq\":%llu,\"time\":\"%s\",\"prev_sha256\":\"%s\",\"%s\":%s%s%s%s",
                 (unsigned long long)previous->seq + 1, time_text, previous->sha256, name, object,
                 key ? ",\"key\":\"" : "", key ? key->id : "", key ? "\"" : "");
    return length < 0 ? NULL : text;
}

static char *end_line(const char *begun, const struct hmac_key *key)
{
    char hash[SHA256_HEX + 1];
    char hmac[SHA256_HEX + 1];
    CLEANUP_FREE char *hashed = NULL;
    if (key) {
        const struct digest_part signed_text = {begun, strlen(begun)};
        hmac_sha256_hex(key->bytes, key->length, &signed_text, 1, hmac);
        if (asprintf(&hashed, "%s" HMAC_BEGIN "%s\"", begun, hmac) < 0) {
            hashed = NULL;
            return NULL;
        }
        begun = hashed;
    }
    char *line = NULL;
    sha256_hex(begun, strlen(begun), hash);
    return asprintf(&line, "%s" HASH_BEGIN "%s" TAIL_END "\n", begun, hash) < 0 ? NULL : line;
}

static bool refuse_long_record(struct failure *failure)
{
    return failure_set(failure, "audit_unavailable", "the audit record is longer than %u bytes",
                       AUDIT_RECORD_LIMIT);
}

bool audit_line_make(const struct audit_link *previous, const char *object_json, bool of_log,
                     const struct hmac_key *key, char **ret_line, size_t *ret_length,
                     struct failure *failure)
{
    if (strnlen(object_json, AUDIT_RECORD_LIMIT + 1) > AUDIT_RECORD_LIMIT)
        return refuse_long_record(failure);
    CLEANUP_FREE char *object = compact_object(object_json, failure);
    if (!object)
        return false;
    if (strlen(object) > AUDIT_RECORD_LIMIT) /* escapes can be longer than what they stand for */
        return refuse_long_record(failure);
    CLEANUP_FREE char *begun = begin_line(previous, of_log ? "log" : "record", object, key);
    char *line = begun ? end_line(begun, key) : NULL;
    if (!line)
        return failure_out_of_memory(failure);
    *ret_line = line;
    *ret_length = strlen(line);
    return true;
}

static bool report_broken(struct failure *failure, const char *how)
{
    return failure_set(failure, "audit_broken", "%s", how);
}

static bool check_hash(const char *line, size_t length, char ret_hex[SHA256_HEX + 1],
                       struct failure *failure)
{
    if (length <= HASH_LENGTH)
        return report_broken(failure, "was changed: it is too short to be a record");
    const char *tail = line + length - HASH_LENGTH;
    const char *hex = tail + sizeof(HASH_BEGIN) - 1;
    if (memcmp(tail, HASH_BEGIN, sizeof(HASH_BEGIN) - 1) != 0 ||
        memcmp(hex + SHA256_HEX, TAIL_END, sizeof(TAIL_END) - 1) != 0)
        return report_broken(failure, "was changed: it does not end with its own sha256");
    sha256_hex(line, length - HASH_LENGTH, ret_hex);
    if (hex_differs(hex, ret_hex, SHA256_HEX))
        return report_broken(failure, "was changed: its sha256 does not match its text");
    return true;
}

static const struct hmac_key *find_key(const struct audit_keys *keys, const char *id)
{
    for (size_t i = 0; i < AUDIT_KEYS_MOST; i++)
        if (keys->keys[i] && strcmp(keys->keys[i]->id, id) == 0)
            return keys->keys[i];
    return NULL;
}

/* length: of the text before ,"sha256", which is longer than a signature: its members are there. */
static bool check_signature(const char *line, size_t length, const struct audit_keys *keys,
                            struct audit_entry *entry, struct failure *failure)
{
    if (!entry->key_id[0])
        return true;
    entry->signature = AUDIT_SIGNED_UNKNOWN;
    const struct hmac_key *key = find_key(keys, entry->key_id);
    if (!key)
        return true;
    char hex[SHA256_HEX + 1];
    const char *tail = line + length - HMAC_LENGTH;
    const struct digest_part signed_text = {line, (size_t)(tail - line)};
    hmac_sha256_hex(key->bytes, key->length, &signed_text, 1, hex);
    if (memcmp(tail, HMAC_BEGIN, sizeof(HMAC_BEGIN) - 1) != 0 ||
        hex_differs(tail + sizeof(HMAC_BEGIN) - 1, hex, SHA256_HEX))
        return report_broken(failure, "was changed: its key did not sign it");
    entry->signature = AUDIT_SIGNED;
    return true;
}

static bool copy_hex(const json_t *object, const char *name, char *ret, size_t digits)
{
    const char *text = json_member_string(object, name, "");
    if (!ascii_is_hex(text, digits))
        return false;
    memcpy(ret, text, digits + 1);
    return true;
}

/* Takes the members over; false where one is missing, of another form, or one too many. */
static bool read_members(struct audit_entry *entry)
{
    const json_t *json = entry->json;
    json_int_t seq = json_member_integer(json, "seq", 0);
    bool is_signed = json_object_get(json, "key") != NULL;
    entry->record = json_object_get(json, "record");
    entry->log = json_object_get(json, "log");
    entry->time = json_member_string(json, "time", NULL);
    entry->link.seq = (uint64_t)seq;
    if (seq < 1 || !entry->time || !copy_hex(json, "prev_sha256", entry->previous, SHA256_HEX))
        return false;
    if (is_signed && !copy_hex(json, "key", entry->key_id, HMAC_KEY_ID))
        return false;
    const json_t *object = entry->record ? entry->record : entry->log;
    return json_is_object(object) && json_object_size(json) == (is_signed ? 7u : 5u);
}

bool audit_line_has_its_hash(const char *line, size_t length)
{
    char hex[SHA256_HEX + 1];
    struct failure why;
    return check_hash(line, length, hex, &why);
}

bool audit_line_check(const char *line, size_t length, const struct audit_keys *keys,
                      struct audit_entry *ret, struct failure *failure)
{
    CLEANUP(audit_entry_clear) struct audit_entry entry = {0};
    if (!check_hash(line, length, entry.link.sha256, failure))
        return false;
    entry.json = json_loadb(line, length, PROVIDER_JSON_FLAGS, NULL);
    if (!entry.json) /* jansson does not tell them apart */
        return report_broken(failure, "is not JSON, or there is no memory to read it");
    if (!read_members(&entry))
        return report_broken(failure, "does not have the form of this log");
    if (!check_signature(line, length - HASH_LENGTH, keys, &entry, failure))
        return false;
    *ret = entry;
    entry = (struct audit_entry){0};
    return true;
}

void audit_entry_clear(struct audit_entry *entry)
{
    json_decref(entry->json);
    *entry = (struct audit_entry){0};
}

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
