/* SPDX-License-Identifier: Apache-2.0 */
/* Makes members of a tool's input. Main thread. */
#include "cli/call_input.h"

#include "cli/input_members.h"

bool call_input_add_text(json_t *input, const char *member, const char *text, size_t length,
                         struct failure *failure)
{
    json_t *value = json_stringn(text, length);
    if (!value)
        return failure_set(failure, "invalid_input", "%s is not UTF-8 text", member);
    if (json_object_set_new(input, member, value) < 0)
        return failure_out_of_memory(failure);
    return true;
}

/* An object of the pairs of an option, each value between two texts. */
static bool add_pairs(json_t *input, const char *member, const struct name_values *list,
                      const char *before, const char *after, const char *option,
                      struct failure *failure)
{
    if (list->count == 0)
        return true;
    json_t *object = json_object();
    if (json_object_set_new(input, member, object) < 0)
        return failure_out_of_memory(failure);
    for (size_t i = 0; i < list->count; i++) {
        const struct name_value *pair = &list->pairs[i];
        if (json_object_set_new(object, pair->name,
                                json_sprintf("%s%s%s", before, pair->value, after)) < 0)
            return failure_set(failure, "invalid_input", "%s %s is not UTF-8 text", option,
                               pair->name);
    }
    return true;
}

static bool add_endpoints(const struct options *options, json_t *input, struct failure *failure)
{
    if (options->endpoint_count == 0)
        return true;
    json_t *names = json_array();
    if (json_object_set_new(input, "endpoints", names) < 0)
        return failure_out_of_memory(failure);
    for (size_t i = 0; i < options->endpoint_count; i++)
        if (json_array_append_new(names, json_string(options->endpoints[i])) < 0)
            return failure_set(failure, "invalid_input", "%s is not UTF-8 text", "--endpoint");
    return true;
}

bool call_input_add_settings(const struct options *options, json_t *input, struct failure *failure)
{
    if (!add_pairs(input, "env", &options->environment, "", "", "--env", failure) ||
        !add_pairs(input, "secrets", &options->used_secrets, "{{secret:", "}}", "--use-secret",
                   failure))
        return false;
    if (options->timeout_ms > 0 &&
        json_object_set_new(input, "timeout_ms", json_integer((json_int_t)options->timeout_ms)) < 0)
        return failure_out_of_memory(failure);
    if (options->network && json_object_set_new(input, "network", json_true()) < 0)
        return failure_out_of_memory(failure);
    return add_endpoints(options, input, failure) && input_members_set(options, input, failure);
}
