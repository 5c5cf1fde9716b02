/* SPDX-License-Identifier: Apache-2.0 */
/* Verifies an audit log and names the first record that is not as it was written. Main thread. */
#include "audit/audit_chain.h"

#include <sha256.h>
#include <string.h>

#include "base/cleanup.h"

/* Lines that are no records: what a crash has left, if the record behind them says so. */
struct torn {
    size_t bytes; /* 0: there are none */
    bool ended;   /* the last of the bytes is a line break, which is not in the hash yet */
    SHA2_CTX hash;
    uint64_t first_line;
    struct failure why;
};

struct walk {
    const struct audit_question *question;
    const struct audit_chain *chain;
    const struct audit_chain_file *file; /* of the chain */
    uint64_t line_number;
    char *line; /* AUDIT_LINE_LIMIT bytes */
    size_t length;
    struct audit_answer answer;
    bool anchored; /* last is known: a record is held against it */
    bool head_seen;
    char next_key_id[HMAC_KEY_ID + 1];
    struct torn torn;
};

static bool report_broken(const struct walk *walk, uint64_t line_number, const char *how,
                          struct failure *failure)
{
    return failure_set(failure, "audit_broken", "%s: line %llu %s", walk->file->path,
                       (unsigned long long)line_number, how);
}

static bool read_line(struct walk *walk)
{
    walk->length = audit_chain_read_line(walk->file->file, walk->file->size, walk->line);
    walk->line_number += walk->length > 0;
    return walk->length > 0;
}

static bool read_entry(struct walk *walk, struct audit_entry *ret, struct failure *failure)
{
    if (walk->line[walk->length - 1] != '\n')
        return failure_set(failure, "audit_broken", "%s",
                           walk->length == AUDIT_LINE_LIMIT
                               ? "was changed: it is longer than any record"
                               : "is incomplete: it has no end of line");
    return audit_line_check(walk->line, walk->length - 1, &walk->question->keys, ret, failure);
}

/* Whether a later line has that number; reads to the end. */
static bool comes_later(struct walk *walk, uint64_t seq)
{
    const struct audit_chain_file *end = walk->chain->files + walk->chain->count;
    for (;;) {
        while (read_line(walk)) {
            CLEANUP(audit_entry_clear) struct audit_entry entry = {0};
            struct failure why;
            if (read_entry(walk, &entry, &why) && entry.link.seq == seq)
                return true;
        }
        if (walk->file + 1 == end)
            return false;
        walk->file++;
        walk->line_number = 0;
    }
}

/* The record's number is not the next one. */
static bool name_gap(struct walk *walk, uint64_t found, struct failure *failure)
{
    const struct walk place = *walk;
    uint64_t wanted = walk->answer.last.seq + 1;
    char how[256];
    int length = snprintf(how, sizeof(how),
                          "has record %llu where %llu belongs: ", (unsigned long long)found,
                          (unsigned long long)wanted);
    char *rest = how + length;
    size_t left = sizeof(how) - (size_t)length;
    if (found < wanted)
        (void)snprintf(rest, left, "it was added again");
    else if (comes_later(walk, wanted))
        (void)snprintf(rest, left, "they were reordered, that one is at line %llu%s",
                       (unsigned long long)walk->line_number,
                       walk->file == place.file ? "" : " of a later file");
    else
        (void)snprintf(rest, left, "that was removed");
    return report_broken(&place, place.line_number, how, failure);
}

static bool check_place(struct walk *walk, const struct audit_entry *entry, struct failure *failure)
{
    char how[160];
    const struct audit_link *last = &walk->answer.last;
    if (entry->link.seq != last->seq + 1)
        return name_gap(walk, entry->link.seq, failure);
    if (strcmp(entry->previous, last->sha256) != 0) {
        (void)snprintf(how, sizeof(how),
                       "names another hash than record %llu before it has: that one was changed "
                       "and given a hash of its own",
                       (unsigned long long)last->seq);
        return report_broken(walk, walk->line_number, how, failure);
    }
    if (strcmp(entry->key_id, walk->next_key_id) != 0) {
        (void)snprintf(how, sizeof(how), "is signed by %s%s where key %s belongs",
                       entry->key_id[0] ? "key " : "nobody", entry->key_id,
                       walk->next_key_id[0] ? walk->next_key_id : "none");
        return report_broken(walk, walk->line_number, how, failure);
    }
    return true;
}

static void torn_add(struct walk *walk, const struct failure *why)
{
    struct torn *torn = &walk->torn;
    if (torn->bytes == 0) {
        SHA256Init(&torn->hash);
        torn->first_line = walk->line_number;
        torn->why = *why;
    }
    if (torn->ended)
        SHA256Update(&torn->hash, (const uint8_t *)"\n", 1);
    torn->ended = walk->line[walk->length - 1] == '\n';
    torn->bytes += walk->length;
    SHA256Update(&torn->hash, (const uint8_t *)walk->line, walk->length - torn->ended);
}

/* The line break at the end is the mending's own. */
static bool torn_is_mended(struct torn *torn, const struct audit_entry *entry)
{
    uint8_t digest[SHA256_DIGEST_LENGTH];
    char hex[SHA256_HEX + 1];
    SHA256Final(digest, &torn->hash);
    hex_write(digest, sizeof(digest), hex);
    return audit_own_entry_mends(entry, torn->bytes - 1, hex);
}

static bool check_torn(struct walk *walk, const struct audit_entry *entry, struct failure *failure)
{
    struct torn *torn = &walk->torn;
    if (torn->bytes == 0 && audit_own_entry_is_mending(entry))
        return report_broken(walk, walk->line_number, "repairs an incomplete line that was removed",
                             failure);
    if (torn->bytes == 0)
        return true;
    if (!torn_is_mended(torn, entry))
        return report_broken(walk, torn->first_line, torn->why.message, failure);
    walk->answer.mended++;
    *torn = (struct torn){0};
    return true;
}

/* The first record names the beginning of the chain and its key. */
static void begin_at(struct walk *walk, const struct audit_entry *entry)
{
    bool begins_later = walk->question->partial && entry->link.seq > 1;
    walk->anchored = true;
    walk->answer.first_seq = begins_later ? entry->link.seq : 1;
    walk->answer.last = audit_link_none();
    if (begins_later) {
        walk->answer.last.seq = entry->link.seq - 1;
        memcpy(walk->answer.last.sha256, entry->previous, sizeof(entry->previous));
    }
    memcpy(walk->next_key_id, entry->key_id, sizeof(entry->key_id));
}

static void take_entry(struct walk *walk, const struct audit_entry *entry)
{
    const struct audit_question *question = walk->question;
    struct audit_answer *answer = &walk->answer;
    answer->last = entry->link;
    answer->unchecked += entry->signature == AUDIT_SIGNED_UNKNOWN;
    memcpy(answer->key_id, entry->key_id, sizeof(entry->key_id));
    (void)snprintf(walk->next_key_id, sizeof(walk->next_key_id), "%s",
                   audit_own_entry_next_key(entry));
    walk->head_seen =
        walk->head_seen || (question->head && strcmp(question->head, entry->link.sha256) == 0);
    if (question->visit)
        question->visit(question->user, entry);
}

static bool walk_line(struct walk *walk, struct failure *failure)
{
    CLEANUP(audit_entry_clear) struct audit_entry entry = {0};
    struct failure why;
    if (!read_entry(walk, &entry, &why)) {
        torn_add(walk, &why);
        return true;
    }
    if (!check_torn(walk, &entry, failure))
        return false;
    if (!walk->anchored)
        begin_at(walk, &entry);
    if (!check_place(walk, &entry, failure))
        return false;
    take_entry(walk, &entry);
    return true;
}

static bool walk_file(struct walk *walk, struct failure *failure)
{
    walk->line_number = 0;
    while (read_line(walk))
        if (!walk_line(walk, failure))
            return false;
    if (ferror(walk->file->file))
        return failure_set(failure, "unreadable_file", "%s cannot be read", walk->file->path);
    if (walk->torn.bytes > 0)
        return report_broken(walk, walk->torn.first_line, walk->torn.why.message, failure);
    return true;
}

static bool has_keys(const struct audit_keys *keys)
{
    return keys->keys[0] != NULL;
}

/* A truncated or a wholly forged log shows only against a head that was kept elsewhere. */
static bool check_end(const struct walk *walk, struct failure *failure)
{
    const struct audit_question *question = walk->question;
    const struct audit_answer *answer = &walk->answer;
    if (question->head && !walk->head_seen) {
        (void)failure_set(failure, "audit_broken",
                          "the log has no record with sha256 %s; its last record is %llu",
                          question->head, (unsigned long long)answer->last.seq);
        return failure_set_hint(failure,
                                "records were removed from the end, or this is a different log");
    }
    if (!has_keys(&question->keys))
        return true;
    if (!answer->key_id[0])
        return failure_set(failure, "audit_broken",
                           "the last record, %llu, is not signed by the key that was given",
                           (unsigned long long)answer->last.seq);
    if (answer->unchecked > 0) {
        (void)failure_set(failure, "audit_broken",
                          "%llu records are signed by keys that were not given",
                          (unsigned long long)answer->unchecked);
        return failure_set_hint(failure, "give every key of this log: repeat --audit-key FILE");
    }
    return true;
}

bool audit_verify(const struct audit_question *question, struct audit_answer *ret,
                  struct failure *failure)
{
    CLEANUP(audit_chain_close) struct audit_chain chain = {0};
    CLEANUP_FREE char *line = malloc(AUDIT_LINE_LIMIT);
    struct walk walk = {.question = question, .line = line};
    *ret = (struct audit_answer){0};
    if (!line)
        return failure_out_of_memory(failure);
    if (!audit_chain_open(question->names, question->name_count, question->partial, &chain,
                          failure))
        return false;
    walk.answer.last = audit_link_none();
    walk.answer.files = chain.count;
    walk.chain = &chain;
    bool intact = true;
    for (size_t i = 0; intact && i < chain.count; i++) {
        walk.file = &chain.files[i];
        intact = walk_file(&walk, failure);
    }
    intact = intact && check_end(&walk, failure);
    *ret = walk.answer;
    return intact;
}
