/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Appends to the hash-chained audit log. The file is opened for each record and locked meanwhile,
 * so that any number of toolhosts can share it. On the thread inside tool_invoke().
 */
#include "audit/audit_log.h"

#include <errno.h>
#include <string.h>

#include "audit/audit_file.h"
#include "base/cleanup.h"
#include "base/state_file.h"
#include "base/write_fully.h"

#define CODE "audit_unavailable"

static const struct state_file default_file = {"audit.jsonl", "the audit log", "--audit", CODE};

bool audit_log_default_path(char **ret_path, struct failure *failure)
{
    return state_file_path(&default_file, ret_path, failure);
}

bool audit_log_make_directories(const char *path, struct failure *failure)
{
    return state_file_make_directories(&default_file, path, failure);
}

static bool append_unchained(const struct audit_file *file, const char *record_json,
                             struct failure *failure)
{
    struct audit_link none = audit_link_none();
    CLEANUP_FREE char *line = NULL;
    size_t length = 0;
    if (!audit_line_make(&none, record_json, false, NULL, &line, &length, failure))
        return false;
    if (!write_fully(file->fd, line, length))
        return failure_set_errno(failure, CODE, errno, "cannot write to %s", file->path);
    return true;
}

/* The fragment is ended with a line break and stays; the line behind says what it is. */
static bool mend_end(struct audit_file *file, struct audit_tail *tail, const struct hmac_key *key,
                     struct failure *failure)
{
    if (tail->torn_bytes == 0)
        return !tail->lacks_break || audit_file_write(file, "\n", 1, failure);
    CLEANUP_FREE char *entry = audit_own_entry_mended(tail->torn_bytes, tail->torn_sha256);
    return audit_file_append(file, &tail->last, "\n", entry, true, key, failure);
}

static bool refuse_key(const char *path, const char *wanted, struct failure *failure)
{
    if (wanted[0]) {
        (void)failure_set(failure, CODE, "%s is signed by key %s, which was not given", path,
                          wanted);
        failure_set_hint(failure, "give it with --audit-key FILE, or change it with: toolhost "
                                  "audit rotate --audit-key NEW --previous-key OLD");
    } else {
        (void)failure_set(failure, CODE, "%s has not been signed so far", path);
        failure_set_hint(failure, "begin to sign it with: toolhost audit rotate --audit-key FILE");
    }
    return false;
}

static const char *id_of(const struct hmac_key *key)
{
    return key ? key->id : "";
}

/* Opens the log and reads its end; a device has none. */
static bool open_at_end(const struct audit_log *log, const struct audit_keys *keys,
                        struct audit_file *ret, struct audit_tail *ret_tail,
                        struct failure *failure)
{
    return audit_file_open(log->path, ret, failure) &&
           (ret->is_device || audit_file_read_tail(ret, keys, ret_tail, failure));
}

static bool is_next_key(const struct audit_tail *tail, const struct hmac_key *key)
{
    return tail->starting || strcmp(tail->next_key_id, id_of(key)) == 0;
}

static bool append_chained(const struct audit_log *log, struct audit_file *file,
                           struct audit_tail *tail, const char *record_json,
                           struct failure *failure)
{
    CLEANUP_FREE char *old_name = NULL;
    bool is_full = log->max_bytes > 0 && (uint64_t)file->size >= log->max_bytes;
    if (!is_next_key(tail, log->key))
        return refuse_key(log->path, tail->next_key_id, failure);
    if (!mend_end(file, tail, log->key, failure) ||
        (is_full && !audit_file_rotate(file, &tail->last, log->key, &old_name, failure)))
        return false;
    return audit_file_append(file, &tail->last, "", record_json, false, log->key, failure) &&
           (!tail->starting || audit_file_sync_directory(log->path, failure));
}

bool audit_log_append(const struct audit_log *log, const char *record_json, struct failure *failure)
{
    CLEANUP(audit_file_close) struct audit_file file = {.fd = -1};
    const struct audit_keys keys = {{log->key}};
    struct audit_tail tail;
    if (!open_at_end(log, &keys, &file, &tail, failure))
        return false;
    return file.is_device ? append_unchained(&file, record_json, failure)
                          : append_chained(log, &file, &tail, record_json, failure);
}

/* The last line that the previous key signs. */
static bool change_key(struct audit_file *file, struct audit_tail *tail,
                       const struct hmac_key *previous, const struct hmac_key *next,
                       struct failure *failure)
{
    CLEANUP_FREE char *entry = audit_own_entry_key_changed(id_of(next));
    return mend_end(file, tail, previous, failure) &&
           audit_file_append(file, &tail->last, "", entry, true, previous, failure);
}

bool audit_log_rotate(const struct audit_log *log, const struct hmac_key *previous, char **ret_name,
                      struct failure *failure)
{
    CLEANUP(audit_file_close) struct audit_file file = {.fd = -1};
    const struct audit_keys keys = {{log->key, previous}};
    struct audit_tail tail;
    if (!open_at_end(log, &keys, &file, &tail, failure))
        return false;
    if (file.is_device || tail.starting)
        return failure_set(failure, CODE, "%s has no records to rotate", log->path);
    bool same_key = is_next_key(&tail, log->key);
    if (!same_key && !is_next_key(&tail, previous))
        return refuse_key(log->path, tail.next_key_id, failure);
    if (!(same_key ? mend_end(&file, &tail, log->key, failure)
                   : change_key(&file, &tail, previous, log->key, failure)))
        return false;
    return audit_file_rotate(&file, &tail.last, log->key, ret_name, failure);
}
