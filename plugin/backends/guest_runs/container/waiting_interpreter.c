/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the command line of an interpreter that waits: see run_message.h. Pure code. */
#include "backends/guest_runs/container/run_message.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"

/* Adds "a,b" to the text, which is taken and ends in "=" or a name. NULL when out of memory. */
static json_t *add_names(json_t *text, char *const *names)
{
    for (size_t i = 0; text && names && names[i]; i++) {
        const char *before = json_string_value(text);
        const char *comma = before[strlen(before) - 1] == '=' ? "" : ",";
        json_t *longer = json_sprintf("%s%s%s", before, comma, names[i]);
        json_decref(text);
        text = longer;
    }
    return text;
}

/* What the interpreter imports ahead of its run. Of a run without packages the named modules are
 * left out: that its program names one is no reason for containers of their own. */
static json_t *imports(const struct run_description *description)
{
    const struct run_preparation *preparation = &description->preparation;
    const char *path = description->packages.path;
    json_t *text = add_names(json_string("CODE_EXECUTE_IMPORT="), preparation->modules);
    return path && path[0] != '\0' ? add_names(text, preparation->named_modules) : text;
}

static bool add_texts(json_t *array, char *const *texts, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (json_array_append_new(array, json_string(texts[i])) != 0)
            return false;
    return true;
}

json_t *waiting_interpreter_arguments(const struct run_description *description)
{
    const struct run_preparation *preparation = &description->preparation;
    uint32_t count = preparation->argument_count;
    if (preparation->interpreter != RUN_INTERPRETER_PYTHON ||
        !run_message_is_for(RUN_INTERPRETER_PYTHON, description->argv[0]))
        return NULL;
    json_auto_t *arguments = json_array();
    if (!add_texts(arguments, description->environment, preparation->environment_count) ||
        json_array_append_new(arguments, json_sprintf("CODE_EXECUTE_ARGUMENTS=%" PRIu32, count)) !=
            0 ||
        json_array_append_new(arguments, imports(description)) != 0 ||
        json_array_append_new(arguments, json_string("--")) != 0 ||
        !add_texts(arguments, description->argv, count))
        return NULL;
    return TAKE_POINTER(arguments);
}
