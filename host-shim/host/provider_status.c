/* SPDX-License-Identifier: Apache-2.0 */
/* Loads and configures a provider, and asks for its status. Main thread. */
#include "host/provider_status.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "host/tool_call.h"

static bool ask_status(const struct provider *provider, json_t **ret_status,
                       struct failure *failure)
{
    char *text = NULL;
    int32_t code = provider->status(&text);
    CLEANUP_FREE char *copy = provider_take_text(provider, text);
    json_auto_t *status = provider_json_read(copy);
    if (!json_is_object(status))
        return failure_set(failure, "provider_failed",
                           "the provider's status (%d) is no JSON object", (int)code);
    *ret_status = TAKE_POINTER(status);
    return true;
}

/* The answer to a question of tool_prepare(); new, NULL where the provider does not know it. */
static json_t *ask_prepare(const struct provider *provider, const char *question)
{
    char *text = NULL;
    if (!provider->prepare)
        return NULL;
    int32_t code = provider->prepare(question, &text);
    CLEANUP_FREE char *copy = provider_take_text(provider, text);
    return code == TOOL_OK ? provider_json_read(copy) : NULL;
}

/* Adds path and version of each interpreter to the status' runtimes, where the provider reports
 * them. */
static void add_interpreters(const struct provider *provider, const json_t *status)
{
    json_auto_t *answer = ask_prepare(provider, "{\"interpreters\":true}");
    size_t i = 0;
    size_t j = 0;
    json_t *runtime = NULL;
    json_t *facts = NULL;
    json_array_foreach(json_object_get(status, "runtimes"), i, runtime)
    {
        json_array_foreach(json_object_get(answer, "interpreters"), j, facts)
        {
            if (json_equal(json_object_get(runtime, "language"),
                           json_object_get(facts, "language")))
                (void)json_object_update(runtime, facts);
        }
    }
}

/* Adds what would be available in place of a mode that is not, where the provider knows such. */
static void add_variants(const struct provider *provider, json_t *status)
{
    size_t index = 0;
    const json_t *backend = NULL;
    bool all = true;
    json_array_foreach(json_object_get(status, "backends"), index, backend) all =
        all && json_member_true(backend, "available");
    if (all)
        return;
    json_auto_t *answer = ask_prepare(provider, "{\"variants\":true}");
    json_t *variants = json_object_get(answer, "variants");
    if (json_is_array(variants))
        (void)json_object_set(status, "variants", variants);
}

/* A refused configuration is the finding; the status of the one before it would mislead. A sweep is
 * reported while configuring only. */
bool provider_status_ask(const struct options *options, json_t **ret_status,
                         struct failure *failure)
{
    CLEANUP(provider_close) struct provider provider = {0};
    if (!tool_provider_open(options, &provider, failure))
        return false;
    bool refused = false;
    json_auto_t *prepared = NULL;
    if (!tool_provider_prepare(options, &provider, true, &refused, &prepared, failure))
        return false;
    if (refused) {
        *ret_status = TAKE_POINTER(prepared);
        return true;
    }
    if (!ask_status(&provider, ret_status, failure))
        return false;
    if (options->command == COMMAND_DOCTOR) {
        add_interpreters(&provider, *ret_status);
        add_variants(&provider, *ret_status);
    }
    json_t *sweep = json_object_get(prepared, "sweep");
    return !sweep || json_object_set(*ret_status, "sweep", sweep) == 0 ||
           failure_out_of_memory(failure);
}

bool provider_status_environments(const struct options *options, json_t *manifest,
                                  struct failure *failure)
{
    CLEANUP(provider_close) struct provider provider = {0};
    json_auto_t *prepared = NULL;
    bool refused = false;
    if (!tool_provider_open(options, &provider, failure) ||
        !tool_provider_prepare(options, &provider, false, &refused, &prepared, failure))
        return false;
    if (refused)
        return failure_set(failure, "invalid_policy", "%s",
                           json_member_string(json_object_get(prepared, "error"), "message",
                                              "the provider refused the configuration"));
    json_auto_t *answer = ask_prepare(&provider, "{\"system_packages\":true}");
    json_t *environments = json_object_get(answer, "environments");
    return !json_is_array(environments) || json_array_size(environments) == 0 ||
           json_object_set(manifest, "environments", environments) == 0 ||
           failure_out_of_memory(failure);
}

static json_t *offer_question(const struct grants *grants, const json_t *context)
{
    json_auto_t *names = json_array();
    CLEANUP_FREE char *context_json = json_compact(context);
    for (size_t i = 0; i < grants->capability_count; i++)
        if (json_array_append_new(names, json_string(grants->capabilities[i])) != 0)
            return NULL;
    return json_pack("{s:{s:O, s:s}}", "offer", "capabilities", names, "context_json",
                     context_json);
}

bool provider_status_offer(const struct provider *provider, const struct grants *grants,
                           const json_t *context, json_t *status, struct failure *failure)
{
    json_auto_t *question = offer_question(grants, context);
    CLEANUP_FREE char *text = question ? json_compact(question) : NULL;
    if (!text)
        return failure_out_of_memory(failure);
    json_auto_t *answer = ask_prepare(provider, text);
    json_t *schemas = json_object_get(answer, "input_schemas");
    return !json_is_object(schemas) || json_object_set(status, "input_schemas", schemas) == 0 ||
           failure_out_of_memory(failure);
}

bool provider_status_refresh(const struct provider *provider, json_t *status)
{
    static const char *const members[] = {"counters", "pools"};
    json_auto_t *answer = ask_prepare(provider, "{\"counters\":true}");
    bool whole = true;
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        json_t *value = json_object_get(answer, members[i]);
        (void)json_object_del(status, members[i]);
        whole = whole && (!value || json_object_set(status, members[i], value) == 0);
    }
    return whole;
}
