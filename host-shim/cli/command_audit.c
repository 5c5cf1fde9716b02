/* SPDX-License-Identifier: Apache-2.0 */
/* toolhost audit verify, show, head and rotate. Main thread. */
#include <errno.h>
#include <string.h>

#include "audit/audit_chain.h"
#include "audit/audit_file.h"
#include "audit/audit_setting.h"
#include "audit/audit_show.h"
#include "base/cleanup.h"
#include "base/console.h"
#include "cli/commands.h"

/* The keys of the command line. */
struct key_ring {
    struct hmac_key *keys[AUDIT_KEYS_MOST];
};

static void key_ring_clear(struct key_ring *ring)
{
    for (size_t i = 0; i < AUDIT_KEYS_MOST; i++)
        audit_setting_free_key(&ring->keys[i]);
}

static bool key_ring_read(const struct audit_options *options, struct key_ring *ring,
                          struct failure *failure)
{
    for (size_t i = 0; i < options->key_count; i++)
        if (!audit_setting_read_key(options->keys[i], &ring->keys[i], failure))
            return false;
    if (!options->previous_key)
        return true;
    return audit_setting_read_key(options->previous_key, &ring->keys[options->key_count], failure);
}

static struct audit_keys lend(const struct key_ring *ring)
{
    struct audit_keys keys;
    for (size_t i = 0; i < AUDIT_KEYS_MOST; i++)
        keys.keys[i] = ring->keys[i];
    return keys;
}

/* The files that were named, or the default log. */
struct names {
    const char *const *names;
    size_t count;
    char *default_path;
    const char *one[1];
};

static void names_clear(struct names *names)
{
    free(names->default_path);
}

static bool names_find(const struct options *options, struct names *ret, struct failure *failure)
{
    ret->names = options->words + 1;
    ret->count = options->word_count - 1;
    if (ret->count > 0)
        return true;
    if (!audit_log_default_path(&ret->default_path, failure))
        return false;
    ret->one[0] = ret->default_path;
    ret->names = ret->one;
    ret->count = 1;
    return true;
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static void print_intact(int out, const struct audit_question *question,
                         const struct audit_answer *answer)
{
    uint64_t records = answer->last.seq == 0 ? 0 : answer->last.seq + 1 - answer->first_seq;
    if (records == 0) {
        (void)dprintf(out, "intact: no records\n");
        return;
    }
    (void)dprintf(out, "intact: %llu record%s, the last has sha256 %s\n",
                  (unsigned long long)records, plural(records), answer->last.sha256);
    if (answer->first_seq > 1)
        (void)dprintf(out, "the records before %llu are missing\n",
                      (unsigned long long)answer->first_seq);
    if (answer->files > 1)
        (void)dprintf(out, "in %zu files\n", answer->files);
    if (answer->mended > 0)
        (void)dprintf(out, "%llu incomplete line%s repaired by the log itself\n",
                      (unsigned long long)answer->mended, plural(answer->mended));
    if (question->keys.keys[0])
        (void)dprintf(out, "signed by key %s\n", answer->key_id);
    else if (answer->unchecked > 0)
        (void)dprintf(
            out,
            "signed, but the signatures were not checked: give the key with --audit-key FILE\n");
}

static bool verify(const struct options *options, const struct audit_keys *keys, int out,
                   struct failure *failure)
{
    CLEANUP(names_clear) struct names names = {0};
    struct audit_answer answer;
    if (!names_find(options, &names, failure))
        return false;
    const struct audit_question question = {
        .names = names.names,
        .name_count = names.count,
        .partial = options->audit.partial,
        .head = options->audit.head,
        .keys = *keys,
    };
    if (!audit_verify(&question, &answer, failure))
        return false;
    print_intact(out, &question, &answer);
    return true;
}

static void show_entry(void *user, const struct audit_entry *entry)
{
    audit_show_entry(user, entry);
}

/* The readable part is shown even when the log is broken after it. */
static bool show(const struct options *options, const struct audit_keys *keys, int out,
                 struct failure *failure)
{
    CLEANUP(names_clear) struct names names = {0};
    struct audit_show show = {0};
    struct audit_answer answer;
    if (!names_find(options, &names, failure) ||
        !audit_show_begin(out, &options->audit.shown, options->json, &show, failure))
        return false;
    const struct audit_question question = {
        .names = names.names,
        .name_count = names.count,
        .partial = true,
        .head = options->audit.head,
        .keys = *keys,
        .visit = show_entry,
        .user = &show,
    };
    bool intact = audit_verify(&question, &answer, failure);
    if (audit_show_end(&show) == 0 && intact)
        console_print_notice("no record of the log matches");
    return intact;
}

static bool head(const struct options *options, const struct audit_keys *keys, int out,
                 struct failure *failure)
{
    CLEANUP(names_clear) struct names names = {0};
    CLEANUP(audit_file_close) struct audit_file file = {.fd = -1};
    struct audit_tail tail;
    if (!names_find(options, &names, failure))
        return false;
    if (access(names.names[0], F_OK) < 0)
        return failure_set_errno(failure, "unreadable_file", errno, "%s", names.names[0]);
    if (!audit_file_open(names.names[0], &file, failure) ||
        !audit_file_read_tail(&file, keys, &tail, failure))
        return false;
    if (tail.torn_bytes > 0)
        console_print_notice("the last line is incomplete; this is the record before it");
    (void)dprintf(out, "%s %llu\n", tail.last.sha256, (unsigned long long)tail.last.seq);
    return true;
}

static bool rotate(const struct options *options, const struct audit_keys *keys, int out,
                   struct failure *failure)
{
    CLEANUP(names_clear) struct names names = {0};
    CLEANUP_FREE char *old_name = NULL;
    const struct audit_options *audit = &options->audit;
    if (audit->key_count > 1)
        return failure_usage(failure, "%s", "only one --audit-key can sign");
    if (!names_find(options, &names, failure))
        return false;
    const struct audit_log log = {.path = names.names[0],
                                  .key = audit->key_count > 0 ? keys->keys[0] : NULL};
    const struct hmac_key *previous = audit->previous_key ? keys->keys[audit->key_count] : NULL;
    if (!audit_log_rotate(&log, previous, &old_name, failure))
        return false;
    (void)dprintf(out, "%s\n", old_name);
    return true;
}

int command_audit(const struct options *options, int out)
{
    static const struct {
        const char *name;
        size_t files_most;
        bool (*run)(const struct options *options, const struct audit_keys *keys, int out,
                    struct failure *failure);
    } actions[] = {
        {"verify", OPTIONS_WORDS, verify},
        {"show", OPTIONS_WORDS, show},
        {"head", 1, head},
        {"rotate", 1, rotate},
    };
    CLEANUP(key_ring_clear) struct key_ring ring = {0};
    struct failure failure;
    for (size_t i = 0; i < COUNT_OF(actions); i++) {
        if (strcmp(options->words[0], actions[i].name) != 0)
            continue;
        if (options->word_count - 1 > actions[i].files_most ||
            (options->json && actions[i].run != show))
            break;
        bool known = key_ring_read(&options->audit, &ring, &failure);
        const struct audit_keys keys = lend(&ring);
        if (known && actions[i].run(options, &keys, out, &failure))
            return EXIT_SUCCESS;
        console_print_failure(&failure);
        return failure_is_usage(&failure) ? EXIT_USAGE : EXIT_FAILURE;
    }
    (void)failure_usage(&failure, "%s",
                        "audit needs verify [FILE...], show [--json] [FILE...], head [FILE] or "
                        "rotate [FILE]");
    console_print_failure(&failure);
    return EXIT_USAGE;
}
