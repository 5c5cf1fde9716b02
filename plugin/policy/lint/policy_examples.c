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

/* The data that the facts of an example point to, beside its JSON. */
struct example {
    struct rule_facts facts;
    const char **names; /* of its secrets */
    const char **endpoints;
    struct rule_inputs with;
};

static void clear_example(struct example *example)
{
    free(example->names);
    free(example->endpoints);
    rule_inputs_clear(&example->with);
}

/* *ret, new, is the caller's in any case. */
static bool read_names(const struct json_place *place, json_t *value, size_t most,
                       json_text_check *check, const char ***ret)
{
    if (!json_read_array(place, value, 0, most))
        return false;
    const char **names = calloc(json_array_size(value) + 1, sizeof(*names));
    *ret = names;
    if (!names)
        return json_place_out_of_memory(place);
    for (size_t i = 0; i < json_array_size(value); i++) {
        struct json_place item = json_place_item(place, i);
        if (!json_read_string(&item, json_array_get(value, i), 1, POLICY_STRING_LIMIT, &names[i]) ||
            !check(&item, names[i]))
            return false;
    }
    return true;
}

static bool read_secrets(const struct json_place *place, json_t *value, void *object)
{
    struct example *example = object;
    if (!read_names(place, value, REQUEST_SECRETS_LIMIT, policy_check_secret_name, &example->names))
        return false;
    example->facts.secrets = example->names;
    example->facts.secret_count = json_array_size(value);
    return true;
}

static bool read_endpoints(const struct json_place *place, json_t *value, void *object)
{
    struct example *example = object;
    if (!read_names(place, value, REQUEST_ENDPOINTS_LIMIT, policy_check_endpoint_name,
                    &example->endpoints))
        return false;
    example->facts.endpoints = example->endpoints;
    example->facts.endpoint_count = json_array_size(value);
    return true;
}

/* With its variables a secret is told by "with"; "secrets" tells names alone. */
static bool read_with(const struct json_place *place, json_t *value, void *object)
{
    struct example *example = object;
    if (!rule_inputs_read(place, value, &example->with))
        return false;
    char *const *pairs = example->with.secrets;
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

#define AT(member) .offset = offsetof(struct example, member)

static const struct json_member members[] = {
    {"language", &member_borrowed_text, AT(facts.language), 1, POLICY_STRING_LIMIT,
     .check = policy_check_language},
    {"mode", &policy_mode, AT(facts.mode), .optional = true, .check = policy_check_mode},
    {"network", &member_boolean, AT(facts.network), .optional = true},
    {"workspace", &member_boolean, AT(facts.workspace), .optional = true},
    {"principal", &member_borrowed_text, AT(facts.principal), 1, POLICY_STRING_LIMIT,
     .optional = true},
    {"secrets", .optional = true, .read = read_secrets},
    {"endpoints", .optional = true, .read = read_endpoints},
    {"with", .optional = true, .read = read_with},
    {"request_sha256", &member_borrowed_text, AT(facts.request_sha256), 1, POLICY_STRING_LIMIT,
     .optional = true, .check = policy_check_sha256},
    {"code", &member_borrowed_text, AT(facts.code), 0, REQUEST_CODE_LIMIT, .optional = true},
    {"code_sha256", &policy_sha256, AT(facts.code_sha256), .optional = true},
    {"code_bytes", &member_uint64, AT(facts.code_bytes), 0, REQUEST_CODE_LIMIT, .optional = true},
    {0},
};

/* The code itself, or facts about it; of a size alone the hash is not known. */
static bool settle_code(const struct json_place *place, const json_t *value,
                        struct rule_facts *facts)
{
    struct json_place code = json_place_named(place, "code");
    if (json_object_get(value, "code_sha256") || json_object_get(value, "code_bytes"))
        return !facts->code ||
               json_place_refuse(&code, "cannot be given together with its hash or size");
    facts->code = facts->code ? facts->code : "";
    facts->code_bytes = strlen(facts->code);
    return true;
}

static bool example_agrees(const struct json_place *place, json_t *value,
                           const struct policy_rule *rule, enum sandbox_mode usual_mode,
                           bool expected)
{
    CLEANUP(clear_example) struct example example = {.facts = {.mode = usual_mode}};
    example.facts.inputs = &example.with;
    if (!json_read_members(place, value, members, &example) ||
        !settle_code(place, value, &example.facts))
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
