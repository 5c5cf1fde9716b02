/* SPDX-License-Identifier: Apache-2.0 */
/* Answering. Runs in the gateway, on the thread inside tool_prepare(). */
#include "exports/prepare_query.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "call/context.h"
#include "exports/status.h"
#include "gate/offer/offer.h"
#include "policy/configuration.h"
#include "policy/lint/policy_lint.h"
#include "policy/policy_parse.h"
#include "request/request.h"
#include "session/session.h"
#include "json/json_input.h"
#include "json/json_place.h"
#include "json/json_text.h"

/* A request inside a JSON string may be twice as long there. */
#define QUERY_BYTES_LIMIT ((size_t)3 * REQUEST_BYTES_LIMIT)
#define QUERY_DEPTH_LIMIT 4

struct query {
    const char *policy_file;
    const char *sandbox;
    bool check;
    bool explain;
    struct explanation_subject subject;
};

static json_t *parse(const char *config_json, struct error *error)
{
    static const struct json_input_limits limits = {.max_bytes = QUERY_BYTES_LIMIT,
                                                    .max_depth = QUERY_DEPTH_LIMIT};
    return json_input_parse("configuration", config_json,
                            strnlen(config_json, QUERY_BYTES_LIMIT + 1), &limits,
                            ERROR_INVALID_POLICY, error);
}

bool prepare_query_is_one(const char *config_json)
{
    struct error error;
    json_auto_t *json = config_json ? parse(config_json, &error) : NULL;
    return json_object_get(json, "check") || json_object_get(json, "explain") ||
           json_object_get(json, "counters") || json_object_get(json, "interpreters") ||
           json_object_get(json, "variants") || json_object_get(json, "offer") ||
           json_object_get(json, "sessions") || json_object_get(json, "system_packages") ||
           json_object_get(json, "environments");
}

static bool read_explain(const json_t *explain, struct query *ret, struct error *error)
{
    static const char *const members[] = {"tool", "input_json", "context_json", NULL};
    struct explanation_subject *subject = &ret->subject;
    if (!explain)
        return true;
    struct json_place root = json_place_root("configuration", ERROR_INVALID_POLICY, error);
    struct json_place place = json_place_named(&root, "explain");
    struct json_place input = json_place_named(&place, "input_json");
    ret->explain = true;
    return json_read_known_members(&place, explain, members) &&
           json_read_member_string(&place, explain, "tool", &subject->tool) &&
           json_read_string(&input, json_object_get(explain, "input_json"), 0, SIZE_MAX,
                            &subject->input_json) &&
           json_read_member_string(&place, explain, "context_json", &subject->context_json);
}

static bool read_members(json_t *json, struct query *ret, struct error *error)
{
    static const char *const members[] = {"policy_file", "sandbox", "check", "explain", NULL};
    const json_t *check = json_object_get(json, "check");
    struct json_place root = json_place_root("configuration", ERROR_INVALID_POLICY, error);
    struct json_place check_place = json_place_named(&root, "check");
    if (!json_read_known_members(&root, json, members) ||
        !json_read_member_string(&root, json, "policy_file", &ret->policy_file) ||
        !json_read_member_string(&root, json, "sandbox", &ret->sandbox))
        return false;
    if (check && !json_is_true(check))
        return json_place_refuse(&check_place, "must be true or absent");
    ret->check = check != NULL;
    return read_explain(json_object_get(json, "explain"), ret, error);
}

static bool find_configuration(const struct query *query, struct configuration *ret,
                               struct error *error)
{
    if (!query->policy_file && !query->sandbox)
        return configuration_current(ret, error);
    return configuration_load(query->policy_file, query->sandbox, ret, error);
}

static json_t *policy_json(const struct configuration *configuration)
{
    const struct policy *policy = configuration->policy;
    return json_pack("{s:s, s:s, s:s, s:s}", "source", policy->source, "sha256", policy->sha256,
                     "default_mode", sandbox_mode_name(policy->default_mode), "mode",
                     sandbox_mode_name(configuration->mode));
}

/* Takes the value, NULL as of a lack of memory. */
static bool add(json_t *text, const char *name, json_t *value, struct error *error)
{
    if (json_object_set_new(text, name, value) == 0)
        return true;
    error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the answer");
    return false;
}

/* A question that is not about a policy has no other member. */
static bool is_alone(const json_t *json, const char *name, struct error *error)
{
    struct json_place root = json_place_root("configuration", ERROR_INVALID_POLICY, error);
    struct json_place place = json_place_named(&root, name);
    return (json_object_size(json) == 1 && json_is_true(json_object_get(json, name))) ||
           json_place_refuse(&place, "must be true, and the only member");
}

/* false with OUT_OF_MEMORY. */
static bool answer_about_policy(const struct query *query,
                                const struct configuration *configuration, json_t *text,
                                struct error *error)
{
    return add(text, "policy", policy_json(configuration), error) &&
           (!query->check || add(text, "findings", policy_lint(configuration->policy), error)) &&
           (!query->explain ||
            add(text, "explanation", explanation_json(configuration, &query->subject), error));
}

/* Counters belong to the process, not to a configuration. */
static bool answer_counters(const json_t *json, json_t *text, struct error *error)
{
    return is_alone(json, "counters", error) && add(text, "counters", status_counters(), error) &&
           add(text, "pools", status_pools(), error);
}

/* They too. */
static bool answer_sessions(const json_t *json, json_t *text, struct error *error)
{
    return is_alone(json, "sessions", error) && add(text, "session_list", session_list(), error);
}

/* Of the configuration in force. */
static bool answer_interpreters(const json_t *json, json_t *text, struct error *error)
{
    CLEANUP(configuration_clear) struct configuration configuration = {0};
    return is_alone(json, "interpreters", error) && configuration_current(&configuration, error) &&
           add(text, "interpreters", interpreter_facts(&configuration), error);
}

/* Entries that are none of this provider's grant nothing in its lists. */
static bool read_grants(const struct json_place *place, json_t *value, char ***ret)
{
    return !value || policy_read_strings(place, value, 0, NULL, ret);
}

/* Of the configuration in force. */
static bool answer_variants(const json_t *json, json_t *text, struct error *error)
{
    CLEANUP(configuration_clear) struct configuration configuration = {0};
    return is_alone(json, "variants", error) && configuration_current(&configuration, error) &&
           add(text, "variants", status_variants(configuration.policy), error);
}

/* Of the configuration in force. */
static bool answer_system_packages(const json_t *json, json_t *text, struct error *error)
{
    CLEANUP(configuration_clear) struct configuration configuration = {0};
    return is_alone(json, "system_packages", error) &&
           configuration_current(&configuration, error) &&
           add(text, "environments", system_facts(&configuration), error);
}

/* Of the configuration in force. */
static bool answer_offer(const json_t *json, json_t *text, struct error *error)
{
    static const char *const members[] = {"capabilities", "context_json", NULL};
    const json_t *question = json_object_get(json, "offer");
    struct json_place root = json_place_root("configuration", ERROR_INVALID_POLICY, error);
    struct json_place place = json_place_named(&root, "offer");
    struct json_place grants_place = json_place_named(&place, "capabilities");
    CLEANUP(configuration_clear) struct configuration configuration = {0};
    CLEANUP(context_clear) struct call_context context = {0};
    CLEANUP(cleanup_string_list) char **grants = NULL;
    const char *context_json = NULL;
    if (json_object_size(json) != 1)
        return json_place_refuse(&place, "must be the only member");
    if (!json_read_known_members(&place, question, members) ||
        !json_read_member_string(&place, question, "context_json", &context_json) ||
        !read_grants(&grants_place, json_object_get(question, "capabilities"), &grants) ||
        !configuration_current(&configuration, error) ||
        !context_parse(context_json, &context, error) ||
        !narrowing_check(&context.narrowing, configuration.policy, error))
        return false;
    configuration.mode = narrowing_mode(&context.narrowing, configuration.mode);
    const struct offer offer = {&configuration, &context.narrowing, grants, &context.tools};
    json_t *schemas = json_pack("{s:o}", "code_execute", offer_input_schema(&offer));
    return add(text, "input_schemas", schemas, error);
}

/* Of the configuration in force. */
static bool answer_environments(const json_t *json, json_t *text, struct error *error)
{
    struct json_place root = json_place_root("configuration", ERROR_INVALID_POLICY, error);
    struct json_place place = json_place_named(&root, "environments");
    if (json_object_size(json) != 1)
        return json_place_refuse(&place, "must be the only member");
    return environment_query_answer(json_object_get(json, "environments"), text, error);
}

static bool look_into(const char *config_json, json_t *text, struct error *error)
{
    json_auto_t *json = parse(config_json, error);
    struct query query = {0};
    CLEANUP(configuration_clear) struct configuration configuration = {0};
    if (json_object_get(json, "counters"))
        return answer_counters(json, text, error);
    if (json_object_get(json, "sessions"))
        return answer_sessions(json, text, error);
    if (json_object_get(json, "interpreters"))
        return answer_interpreters(json, text, error);
    if (json_object_get(json, "variants"))
        return answer_variants(json, text, error);
    if (json_object_get(json, "system_packages"))
        return answer_system_packages(json, text, error);
    if (json_object_get(json, "offer"))
        return answer_offer(json, text, error);
    if (json_object_get(json, "environments"))
        return answer_environments(json, text, error);
    return json && read_members(json, &query, error) &&
           find_configuration(&query, &configuration, error) &&
           answer_about_policy(&query, &configuration, text, error);
}

char *prepare_query_answer(const char *config_json, bool *ret_answered)
{
    struct error error;
    json_auto_t *text =
        json_pack("{s:s, s:s}", "provider", "code-execute", "version", CODE_EXECUTE_VERSION);
    *ret_answered = look_into(config_json, text, &error);
    if (json_object_set_new(text, "error", status_error(*ret_answered ? NULL : &error)) != 0)
        return NULL;
    return json_text(text, JSON_ORDER_MADE);
}
