/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy's life (loading, sharing, releasing) and the questions it answers. Runs in the
 * gateway on any thread; a policy does not change once it is loaded.
 */
#include "policy/policy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/trusted_file.h"
#include "base/utf8.h"
#include "policy/policy_parse.h"
#include "json/canonical.h"
#include "json/json_input.h"

#define BUILTIN_SOURCE     "built-in"
#define POLICY_DEPTH_LIMIT 16

static json_t *parse_text(const char *what, const char *text, size_t length, struct error *error)
{
    static const struct json_input_limits limits = {.max_bytes = POLICY_FILE_LIMIT,
                                                    .max_depth = POLICY_DEPTH_LIMIT};
    return json_input_parse(what, text, length, &limits, ERROR_INVALID_POLICY, error);
}

json_t *policy_builtin_json(struct error *error)
{
    return parse_text("policy built-in", policy_builtin_text, policy_builtin_length, error);
}

/* The built-in policy with the given text as a patch on it (NULL: none), which is new, too. */
static json_t *effective_json(const char *what, const char *text, size_t length, json_t **ret_patch,
                              struct error *error)
{
    json_auto_t *merged = policy_builtin_json(error);
    if (!merged)
        return NULL;
    if (!text)
        return TAKE_POINTER(merged);
    json_auto_t *patch = parse_text(what, text, length, error);
    if (!patch)
        return NULL;
    if (!merge_patch(merged, patch)) {
        error_set(error, ERROR_OUT_OF_MEMORY, "%.200s: out of memory", what);
        return NULL;
    }
    *ret_patch = TAKE_POINTER(patch);
    return TAKE_POINTER(merged);
}

static void cleanup_policy(struct policy **policy)
{
    policy_unref(*policy);
}

static struct policy *policy_new(const char *source)
{
    struct policy *policy = calloc(1, sizeof(*policy));
    if (!policy)
        return NULL;
    atomic_init(&policy->references, 1);
    size_t length;
    bool replaced;
    policy->source =
        utf8_sanitize((const unsigned char *)source, strlen(source), &length, &replaced);
    if (!policy->source) {
        free(policy);
        return NULL;
    }
    return policy;
}

/* The policy without the rules that name a request by its hash: the hash of a request is made with
 * the policy's, so a rule could never name one otherwise. NULL when out of memory. */
static json_t *base_json(const json_t *effective)
{
    json_auto_t *base = json_copy((json_t *)(uintptr_t)effective);
    json_auto_t *approval = json_copy(json_object_get(effective, "approval"));
    json_auto_t *kept = json_array();
    const json_t *rules = json_object_get(approval, "rules");
    for (size_t i = 0; i < json_array_size(rules); i++) {
        json_t *rule = json_array_get(rules, i);
        if (!json_object_get(rule, "request_sha256") && json_array_append(kept, rule) != 0)
            return NULL;
    }
    if (json_object_set(approval, "rules", kept) != 0 ||
        json_object_set(base, "approval", approval) != 0)
        return NULL;
    return TAKE_POINTER(base);
}

static bool hash_policy(const json_t *effective, struct policy *policy)
{
    json_auto_t *base = base_json(effective);
    return base && canonical_sha256(effective, policy->sha256) &&
           canonical_sha256(base, policy->base_sha256);
}

struct policy *policy_load_text(const char *source, const char *text, size_t length,
                                struct error *error)
{
    char what[256];
    (void)snprintf(what, sizeof(what), "policy %s", source);
    struct json_place root = json_place_root(what, ERROR_INVALID_POLICY, error);

    json_auto_t *patch = NULL;
    json_auto_t *effective = effective_json(what, text, length, &patch, error);
    if (!effective)
        return NULL;
    CLEANUP(cleanup_policy) struct policy *policy = policy_new(source);
    if (!policy) {
        json_place_out_of_memory(&root);
        return NULL;
    }
    if (!policy_parse(&root, effective, policy))
        return NULL;
    if (!hash_policy(effective, policy)) {
        json_place_out_of_memory(&root);
        return NULL;
    }
    policy->patch = TAKE_POINTER(patch);
    return TAKE_POINTER(policy);
}

struct policy *policy_load_builtin(struct error *error)
{
    return policy_load_text(BUILTIN_SOURCE, NULL, 0, error);
}

/* The bytes of a policy file, new, of *ret_length; NULL with error. A FIFO or device would block or
 * never end, and a file that other users can write is refused (trusted_file.h). */
static char *read_file(const char *path, size_t *ret_length, struct error *error)
{
    CLEANUP_CLOSE int fd = trusted_file_open("policy", path, ERROR_INVALID_POLICY, error);
    if (fd < 0)
        return NULL;
    /* One byte beyond the limit reveals a file that is too long, whatever its size said. */
    CLEANUP_FREE char *bytes = malloc(POLICY_FILE_LIMIT + 1);
    if (!bytes) {
        error_set(error, ERROR_OUT_OF_MEMORY, "policy %.200s: out of memory", path);
        return NULL;
    }
    ssize_t length = trusted_file_read(fd, bytes, POLICY_FILE_LIMIT + 1);
    if (length < 0) {
        error_set_errno(error, ERROR_INVALID_POLICY, errno, "policy %.200s: cannot be read", path);
        return NULL;
    }
    if ((size_t)length > POLICY_FILE_LIMIT) {
        error_set(error, ERROR_INVALID_POLICY, "policy %.200s: longer than %u bytes", path,
                  POLICY_FILE_LIMIT);
        return NULL;
    }
    *ret_length = (size_t)length;
    return TAKE_POINTER(bytes);
}

struct policy *policy_load_file(const char *path, struct error *error)
{
    size_t length;
    CLEANUP_FREE char *text = read_file(path, &length, error);
    if (!text)
        return NULL;
    return policy_load_text(path, text, length, error);
}

struct policy *policy_ref(struct policy *policy)
{
    atomic_fetch_add_explicit(&policy->references, 1, memory_order_relaxed);
    return policy;
}

static void policy_free(struct policy *policy)
{
    json_clear_members(policy_members, policy);
    for (size_t i = 0; i < SANDBOX_MODE_COUNT; i++) {
        policy_images_clear(&policy->images[i]);
        free(policy->options[i].bytes);
    }
    json_decref(policy->patch);
    free(policy->source);
    free(policy);
}

void policy_unref(struct policy *policy)
{
    if (!policy)
        return;
    if (atomic_fetch_sub_explicit(&policy->references, 1, memory_order_acq_rel) == 1)
        policy_free(policy);
}

const struct policy_language *policy_find_language(const struct policy *policy, const char *name)
{
    for (size_t i = 0; i < policy->language_count; i++) {
        if (strcmp(policy->languages[i].name, name) == 0)
            return &policy->languages[i];
    }
    return NULL;
}
