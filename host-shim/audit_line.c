/* SPDX-License-Identifier: Apache-2.0 */
/* Writes and checks one line of the hash-chained audit log. Pure code, any thread. */
#include "audit_line.h"

#include <sha256.h>
#include <string.h>
#include <time.h>

#include "cleanup.h"
#include "json_member.h"

#define TAIL_BEGIN  ",\"sha256\":\""
#define TAIL_END    "\"}"
#define TAIL_LENGTH (sizeof(TAIL_BEGIN) - 1 + AUDIT_SHA256_HEX + sizeof(TAIL_END) - 1)

struct audit_link audit_link_none(void)
{
    struct audit_link none = {0};
    memset(none.sha256, '0', AUDIT_SHA256_HEX);
    return none;
}

static void sha256_hex(const char *bytes, size_t length, char ret_hex[AUDIT_SHA256_HEX + 1])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t digest[SHA256_DIGEST_LENGTH];
    SHA2_CTX context;
    SHA256Init(&context);
    SHA256Update(&context, (const uint8_t *)bytes, length);
    SHA256Final(digest, &context);
    for (size_t i = 0; i < sizeof(digest); i++) {
        ret_hex[2 * i] = digits[digest[i] >> 4];
        ret_hex[2 * i + 1] = digits[digest[i] & 0x0F];
    }
    ret_hex[AUDIT_SHA256_HEX] = '\0';
}

static void now_rfc3339(char *ret_text, size_t capacity)
{
    struct timespec now;
    struct tm parts;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &parts);
    size_t length = strftime(ret_text, capacity, "%Y-%m-%dT%H:%M:%S", &parts);
    (void)snprintf(ret_text + length, capacity - length, ".%03ldZ", now.tv_nsec / 1000000);
}

/* Written anew, so that no line break or second member of the same name gets into the log. */
static char *compact_object(const char *record_json, struct failure *failure)
{
    json_error_t where;
    CLEANUP_JSON json_t *record = json_loads(record_json, JSON_REJECT_DUPLICATES, &where);
    if (!json_is_object(record)) {
        (void)failure_set(failure, "audit_unavailable",
                          "the provider's audit record is no JSON object");
        return NULL;
    }
    char *text = json_dumps(record, JSON_COMPACT);
    if (!text)
        (void)failure_out_of_memory(failure);
    return text;
}

bool audit_line_make(const struct audit_link *previous, const char *record_json, char **ret_line,
                     size_t *ret_length, struct failure *failure)
{
    if (strnlen(record_json, AUDIT_RECORD_LIMIT + 1) > AUDIT_RECORD_LIMIT)
        return failure_set(failure, "audit_unavailable", "an audit record of more than %u bytes",
                           AUDIT_RECORD_LIMIT);
    CLEANUP_FREE char *record = compact_object(record_json, failure);
    if (!record)
        return false;
    char time_text[64];
    now_rfc3339(time_text, sizeof(time_text));
    CLEANUP_FREE char *hashed = NULL;
    int length =
        asprintf(&hashed, "{\"seq\":%llu,\"time\":\"%s\",\"prev_sha256\":\"%s\",\"record\":%s",
                 (unsigned long long)(previous->seq + 1), time_text, previous->sha256, record);
    if (length < 0) {
        hashed = NULL;
        return failure_out_of_memory(failure);
    }
    if ((size_t)length + TAIL_LENGTH + 1 > AUDIT_LINE_LIMIT)
        return failure_set(failure, "audit_unavailable", "an audit record of more than %u bytes",
                           AUDIT_RECORD_LIMIT);
    char hex[AUDIT_SHA256_HEX + 1];
    sha256_hex(hashed, (size_t)length, hex);
    char *line = NULL;
    int line_length = asprintf(&line, "%s" TAIL_BEGIN "%s" TAIL_END "\n", hashed, hex);
    if (line_length < 0)
        return failure_out_of_memory(failure);
    *ret_line = line;
    *ret_length = (size_t)line_length;
    return true;
}

static bool changed(struct failure *failure, const char *how)
{
    return failure_set(failure, "audit_broken", "%s", how);
}

static bool check_own_hash(const char *line, size_t length, char ret_hex[AUDIT_SHA256_HEX + 1],
                           struct failure *failure)
{
    if (length <= TAIL_LENGTH)
        return changed(failure, "is too short to be a record");
    const char *tail = line + length - TAIL_LENGTH;
    const char *hex = tail + sizeof(TAIL_BEGIN) - 1;
    if (memcmp(tail, TAIL_BEGIN, sizeof(TAIL_BEGIN) - 1) != 0 ||
        memcmp(hex + AUDIT_SHA256_HEX, TAIL_END, sizeof(TAIL_END) - 1) != 0)
        return changed(failure, "does not end in its own sha256");
    sha256_hex(line, length - TAIL_LENGTH, ret_hex);
    if (memcmp(hex, ret_hex, AUDIT_SHA256_HEX) != 0)
        return changed(failure, "was changed: its text does not have its sha256");
    return true;
}

bool audit_line_check(const char *line, size_t length, struct audit_link *ret_link,
                      char ret_previous[AUDIT_SHA256_HEX + 1], struct failure *failure)
{
    struct audit_link link = {0};
    if (!check_own_hash(line, length, link.sha256, failure))
        return false;
    json_error_t where;
    CLEANUP_JSON json_t *object = json_loadb(line, length, JSON_REJECT_DUPLICATES, &where);
    const char *previous = json_member_string(object, "prev_sha256", "");
    json_int_t seq = json_member_integer(object, "seq", 0);
    if (seq < 1 || strlen(previous) != AUDIT_SHA256_HEX ||
        !json_is_object(json_object_get(object, "record")) ||
        !json_is_string(json_object_get(object, "time")) || json_object_size(object) != 5)
        return changed(failure, "is not a record of this log's form");
    link.seq = (uint64_t)seq;
    *ret_link = link;
    memcpy(ret_previous, previous, AUDIT_SHA256_HEX + 1);
    return true;
}
