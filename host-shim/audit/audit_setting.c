/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the audit log that the options name, and reads its key. Main thread. */
#include "audit/audit_setting.h"

#include "base/cleanup.h"

bool audit_setting_read_key(const char *path, struct hmac_key **ret, struct failure *failure)
{
    CLEANUP(audit_setting_free_key) struct hmac_key *key = calloc(1, sizeof(*key));
    if (!key)
        return failure_out_of_memory(failure);
    if (!hmac_key_read(path, key, failure))
        return false;
    *ret = TAKE_POINTER(key);
    return true;
}

void audit_setting_free_key(struct hmac_key **key)
{
    if (*key)
        hmac_key_wipe(*key);
    free(*key);
    *key = NULL;
}

bool audit_setting_make(const struct audit_options *options, struct audit_setting *ret,
                        struct failure *failure)
{
    CLEANUP(audit_setting_clear) struct audit_setting setting = {0};
    if (options->key_count > 1)
        return failure_usage(failure, "%s", "only one --audit-key can sign");
    if (!options->path && (!audit_log_default_path(&setting.default_path, failure) ||
                           !audit_log_make_directories(setting.default_path, failure)))
        return false;
    if (options->key_count > 0 && !audit_setting_read_key(options->keys[0], &setting.key, failure))
        return false;
    setting.log = (struct audit_log){
        .path = options->path ? options->path : setting.default_path,
        .key = setting.key,
        .max_bytes = options->max_bytes,
    };
    *ret = setting;
    setting = (struct audit_setting){0};
    return true;
}

void audit_setting_clear(struct audit_setting *setting)
{
    audit_setting_free_key(&setting->key);
    free(setting->default_path);
    *setting = (struct audit_setting){0};
}
