/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rule's examples: requests of which its author says that it applies to them, or does not. They
 * are tried when the policy is loaded, so that a rule which says something else than was meant
 * never decides anything. Pure code; runs in the gateway on the calling thread.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "policy/policy_parse.h"
#include "policy/policy_rules.h"
#include "request/request.h"
#include "vocabulary/handle.h"

/* The data that the facts of an example point to, beside its JSON. */
struct example {
    struct rule_facts facts;
    const char **names; /* of its secrets */
    struct rule_inputs with;
};

static void clear_example(struct example *example)
{
    free(example->names);
    rule_inputs_clear(&example->with);
}

static bool read_secrets(const struct json_place *place, const json_t *value,
                         struct example *example)
{
    if (!value)
        return true;
    if (!json_read_array(place, value, 0, REQUEST_SECRETS_LIMIT))
        return false;
    const char **names = calloc(json_array_size(value) + 1, sizeof(*names));
    example->names = names;
    if (!names)
        return json_place_out_of_memory(place);
    for (size_t i = 0; i < json_array_size(value); i++) {
        struct json_place item = json_place_item(place, i);
        if (!json_read_string(&item, json_array_get(value, i), 1, POLICY_STRING_LIMIT, &names[i]))
            return false;
        if (!handle_name_valid(names[i], strlen(names[i])))
            return json_place_refuse(&item, "must be a secret's name");
    }
    example->facts.secrets = names;
    example->facts.secret_count = json_array_size(value);
    return true;
}

/* With its variables a secret is told by "with"; "secrets" tells names alone. */
static bool read_with(const struct json_place *place, json_t *value, struct example *example)
{
    char *const *pairs = NULL;
    if (!rule_inputs_read(place, value, &example->with))
        return false;
    example->facts.inputs = &example->with;
    pairs = example->with.secrets;
    if (string_list_count(pairs) == 0)
        return true;
    if (example->names)
        return json_place_refuse(place,
                                 "has secrets, and so does \"secrets\": only one of them may");
    example->names = calloc(string_list_count(pairs) + 1, sizeof(*example->names));
    if (!example->names)
        return json_place_out_of_memory(place);
    for (size_t i = 0; pairs[i]; i++)
        example->names[i] = strchr(pairs[i], '=') + 1;
    example->facts.secrets = example->names;
    example->facts.secret_count = string_list_count(pairs);
    return true;
}

static bool read_boolean(const struct json_place *place, const json_t *value, bool *ret)
{
    return !value || json_read_boolean(place, value, ret);
}

static bool read_request_hash(const struct json_place *place, const json_t *value, const char **ret)
{
    return !value || (json_read_string(place, value, 1, POLICY_STRING_LIMIT, ret) &&
                      policy_check_sha256(place, *ret));
}

static bool read_mode(const struct json_place *place, const json_t *value, enum sandbox_mode *ret)
{
    const char *name;
    if (!value)
        return true;
    if (!json_read_string(place, value, 1, 16, &name))
        return false;
    if (sandbox_mode_parse(name, ret))
        return true;
    return json_place_refuse(place, "must be docker, process or none");
}

static bool read_language(const struct json_place *place, const json_t *value, const char **ret)
{
    return json_read_string(place, value, 1, POLICY_STRING_LIMIT, ret) &&
           policy_check_language(place, *ret);
}

static bool read_principal(const struct json_place *place, const json_t *value, const char **ret)
{
    return !value || json_read_string(place, value, 1, POLICY_STRING_LIMIT, ret);
}

static bool read_size(const struct json_place *place, const json_t *value, uint64_t *ret)
{
    int64_t size;
    if (!value)
        return true;
    if (!json_read_integer(place, value, 0, REQUEST_CODE_LIMIT, &size))
        return false;
    *ret = (uint64_t)size;
    return true;
}

static bool read_hash(const struct json_place *place, const json_t *value, struct rule_facts *facts)
{
    const char *hash;
    if (!value)
        return true;
    if (!json_read_string(place, value, 1, POLICY_STRING_LIMIT, &hash) ||
        !policy_check_sha256(place, hash))
        return false;
    memcpy(facts->code_sha256, hash, sizeof(facts->code_sha256));
    return true;
}

/* The code itself, or its known facts. */
static bool read_code(const struct json_place *place, const json_t *value, struct rule_facts *facts)
{
    struct json_place code_place = json_place_named(place, "code");
    struct json_place hash_place = json_place_named(place, "code_sha256");
    struct json_place size_place = json_place_named(place, "code_bytes");
    const json_t *code = json_object_get(value, "code");
    const json_t *hash = json_object_get(value, "code_sha256");
    const json_t *size = json_object_get(value, "code_bytes");
    /* Of a size alone the hash is not known. */
    facts->code = !hash && !size ? "" : NULL;
    if (code && (hash || size))
        return json_place_refuse(&code_place, "cannot be given together with its hash or size");
    if (code) {
        if (!json_read_string(&code_place, code, 0, REQUEST_CODE_LIMIT, &facts->code))
            return false;
        facts->code_bytes = json_string_length(code);
    }
    return read_hash(&hash_place, hash, facts) && read_size(&size_place, size, &facts->code_bytes);
}

static bool read_who_and_where(const struct json_place *place, const json_t *value,
                               struct rule_facts *facts)
{
    struct json_place language = json_place_named(place, "language");
    struct json_place mode = json_place_named(place, "mode");
    struct json_place network = json_place_named(place, "network");
    struct json_place workspace = json_place_named(place, "workspace");
    struct json_place principal = json_place_named(place, "principal");
    return read_language(&language, json_object_get(value, "language"), &facts->language) &&
           read_mode(&mode, json_object_get(value, "mode"), &facts->mode) &&
           read_boolean(&network, json_object_get(value, "network"), &facts->network) &&
           read_boolean(&workspace, json_object_get(value, "workspace"), &facts->workspace) &&
           read_principal(&principal, json_object_get(value, "principal"), &facts->principal);
}

static bool read_example(const struct json_place *place, const json_t *value,
                         enum sandbox_mode usual_mode, struct example *example)
{
    static const char *const members[] = {
        "language", "mode",        "network",    "workspace", "secrets",        "principal",
        "code",     "code_sha256", "code_bytes", "with",      "request_sha256", NULL};
    struct json_place secrets = json_place_named(place, "secrets");
    struct json_place with = json_place_named(place, "with");
    struct json_place request = json_place_named(place, "request_sha256");
    example->facts.mode = usual_mode;
    return json_read_known_members(place, value, members) &&
           read_who_and_where(place, value, &example->facts) &&
           read_secrets(&secrets, json_object_get(value, "secrets"), example) &&
           read_with(&with, json_object_get(value, "with"), example) &&
           read_request_hash(&request, json_object_get(value, "request_sha256"),
                             &example->facts.request_sha256) &&
           read_code(place, value, &example->facts);
}

static bool example_agrees(const struct json_place *place, json_t *value,
                           const struct policy_rule *rule, enum sandbox_mode usual_mode,
                           bool expected)
{
    CLEANUP(clear_example) struct example example = {.facts = {.language = NULL}};
    if (!read_example(place, value, usual_mode, &example))
        return false;
    if (rule_applies(rule, &example.facts) == expected)
        return true;
    const char *id = rule->id ? rule->id : "without an id";
    return json_place_refuse(place,
                             expected ? "the rule (%s) does not apply to this example"
                                      : "the rule (%s) applies to this example",
                             id);
}

static bool examples_agree(const struct json_place *place, const json_t *value,
                           const struct policy_rule *rule, enum sandbox_mode usual_mode,
                           bool expected)
{
    if (!value)
        return true;
    if (!json_read_array(place, value, 1, POLICY_LIST_LIMIT))
        return false;
    for (size_t i = 0; i < json_array_size(value); i++) {
        struct json_place item = json_place_item(place, i);
        if (!example_agrees(&item, json_array_get(value, i), rule, usual_mode, expected))
            return false;
    }
    return true;
}

bool policy_examples_agree(const struct json_place *place, const json_t *rule_json,
                           const struct policy_rule *rule, enum sandbox_mode usual_mode)
{
    struct json_place match = json_place_named(place, "match");
    struct json_place not_match = json_place_named(place, "not_match");
    return examples_agree(&match, json_object_get(rule_json, "match"), rule, usual_mode, true) &&
           examples_agree(&not_match, json_object_get(rule_json, "not_match"), rule, usual_mode,
                          false);
}
