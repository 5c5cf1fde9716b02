/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the policy keeps a language's interpreter ready. Pure code; runs in the gateway on the
 * calling thread.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "policy/policy_parse.h"

#define NAMED_LIMIT 64

static const char *const interpreters[] = {
    [RUN_INTERPRETER_PYTHON - 1] = "python",
    [RUN_INTERPRETER_NODE - 1] = "node",
};

static bool check_module(const struct json_place *place, const char *name)
{
    if (policy_is_plain_name(name, "._"))
        return true;
    return json_place_refuse(place, "must be letters, digits and any of ._");
}

static bool read_interpreter(const struct json_place *place, const json_t *value,
                             enum run_interpreter *ret)
{
    const char *name;
    size_t index;
    if (!json_read_string(place, value, 1, RUN_NAME_LIMIT, &name))
        return false;
    if (!policy_choose(name, interpreters, COUNT_OF(interpreters), &index))
        return json_place_refuse(place, "must be \"python\" or \"node\"");
    *ret = (enum run_interpreter)(index + 1);
    return true;
}

/* Absent is none. */
static bool read_named(const struct json_place *place, json_t *value,
                       struct policy_preparation *preparation)
{
    if (!value)
        return true;
    if (!json_read_object(place, value))
        return false;
    if (json_object_size(value) > NAMED_LIMIT)
        return json_place_refuse(place, "must have at most %d members", NAMED_LIMIT);
    preparation->named = calloc(json_object_size(value) + 1, sizeof(*preparation->named));
    if (!preparation->named)
        return json_place_out_of_memory(place);
    for (void *at = json_object_iter(value); at; at = json_object_iter_next(value, at)) {
        const char *word = json_object_iter_key(at);
        struct json_place member = json_place_named(place, word);
        struct policy_named_modules *named = &preparation->named[preparation->named_count++];
        if (word[0] == '\0' || !policy_is_plain_name(word, "_"))
            return json_place_refuse(&member, "a word must be letters, digits and _");
        if (!policy_copy_text(&member, word, &named->word) ||
            !policy_read_strings(&member, json_object_iter_value(at), 0, check_module,
                                 &named->modules))
            return false;
    }
    return true;
}

/* Only Python can be copied, and told what to import. */
static bool read_python(const struct json_place *place, json_t *value,
                        struct policy_preparation *preparation)
{
    struct json_place fork_place = json_place_named(place, "fork");
    struct json_place import_place = json_place_named(place, "import");
    struct json_place named_place = json_place_named(place, "import_named");
    struct json_place runs_place = json_place_named(place, "renew_runs");
    struct json_place ms_place = json_place_named(place, "renew_ms");
    int64_t runs;
    int64_t milliseconds;
    if (!json_read_boolean(&fork_place, json_object_get(value, "fork"), &preparation->fork) ||
        !policy_read_strings(&import_place, json_object_get(value, "import"), 0, check_module,
                             &preparation->modules) ||
        !read_named(&named_place, json_object_get(value, "import_named"), preparation) ||
        !json_read_integer(&runs_place, json_object_get(value, "renew_runs"), 1, RUN_RENEW_LIMIT,
                           &runs) ||
        !json_read_integer(&ms_place, json_object_get(value, "renew_ms"), 1,
                           (int64_t)RUN_POOL_IDLE_LIMIT, &milliseconds))
        return false;
    preparation->renew_runs = (uint64_t)runs;
    preparation->renew_ms = (uint64_t)milliseconds;
    return true;
}

bool policy_read_preparation(const struct json_place *place, json_t *value,
                             struct policy_preparation *ret)
{
    static const char *const members[] = {"interpreter", NULL};
    static const char *const python_members[] = {
        "interpreter", "fork", "import", "import_named", "renew_runs", "renew_ms", NULL};
    struct json_place interpreter = json_place_named(place, "interpreter");
    if (!value)
        return true;
    if (!json_read_object(place, value) ||
        !read_interpreter(&interpreter, json_object_get(value, "interpreter"), &ret->interpreter))
        return false;
    if (ret->interpreter != RUN_INTERPRETER_PYTHON)
        return json_read_known_members(place, value, members);
    return json_read_known_members(place, value, python_members) && read_python(place, value, ret);
}

void policy_preparation_clear(struct policy_preparation *preparation)
{
    string_list_free(preparation->modules);
    for (size_t i = 0; i < preparation->named_count; i++) {
        free(preparation->named[i].word);
        string_list_free(preparation->named[i].modules);
    }
    free(preparation->named);
}
