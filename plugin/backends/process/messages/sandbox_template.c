/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the comparison and the copies of templates: see sandbox_template.h. */
#include "backends/process/messages/sandbox_template.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static bool same_strings(char *const *one, char *const *other)
{
    for (; *one && *other; one++, other++)
        if (strcmp(*one, *other) != 0)
            return false;
    return !*one && !*other;
}

static bool same_interpreter(const struct interpreter_template *one,
                             const struct interpreter_template *other)
{
    if (one->kind != other->kind || one->kind == RUN_INTERPRETER_NONE)
        return one->kind == other->kind;
    return one->fork == other->fork && one->program_argument == other->program_argument &&
           one->renew_runs == other->renew_runs && one->renew_ms == other->renew_ms &&
           same_strings(one->argv, other->argv) &&
           same_strings(one->environment, other->environment) &&
           same_strings(one->runtime_path, other->runtime_path) &&
           same_strings(one->modules, other->modules) &&
           same_strings(one->named_modules, other->named_modules);
}

bool sandbox_template_equal(const struct sandbox_template *one,
                            const struct sandbox_template *other)
{
    return one->outer_uid_base == other->outer_uid_base &&
           one->outer_uid_count == other->outer_uid_count && one->network == other->network &&
           one->scratch_bytes == other->scratch_bytes &&
           one->scratch_inodes == other->scratch_inodes &&
           strcmp(one->workspace, other->workspace) == 0 &&
           directory_id_equal(&one->workspace_id, &other->workspace_id) &&
           same_strings(one->read_only_paths, other->read_only_paths) &&
           same_interpreter(&one->interpreter, &other->interpreter);
}

static size_t count_strings(char *const *strings)
{
    size_t count = 0;
    while (strings[count])
        count++;
    return count;
}

static void free_strings(char **strings)
{
    for (char **string = strings; string && *string; string++)
        free(*string);
    free(strings);
}

/* NULL: no memory. */
static char **copy_strings(char *const *strings, size_t count)
{
    char **copy = calloc(count + 1, sizeof(*copy));
    for (size_t i = 0; copy && i < count; i++) {
        copy[i] = strdup(strings[i]);
        if (!copy[i])
            free_strings(TAKE_POINTER(copy));
    }
    return copy;
}

static bool interpreter_of(const struct run_description *description,
                           struct interpreter_template *ret)
{
    const struct run_preparation *preparation = &description->preparation;
    char *const *runtime_path = description->runtime_path;
    *ret = (struct interpreter_template){
        .kind = preparation->interpreter,
        .fork = preparation->fork,
        .program_argument = preparation->program_argument,
        .renew_runs = preparation->renew_runs,
        .renew_ms = preparation->renew_ms,
    };
    if (ret->kind == RUN_INTERPRETER_NONE)
        return true;
    ret->argv = copy_strings(description->argv, preparation->argument_count);
    ret->environment = copy_strings(description->environment, preparation->environment_count);
    ret->runtime_path = copy_strings(runtime_path, count_strings(runtime_path));
    ret->modules = copy_strings(preparation->modules, count_strings(preparation->modules));
    ret->named_modules =
        copy_strings(preparation->named_modules, count_strings(preparation->named_modules));
    return ret->argv && ret->environment && ret->runtime_path && ret->modules && ret->named_modules;
}

bool sandbox_template_of(const struct run_description *description, struct sandbox_template *ret)
{
    char *const *read_only_paths = description->read_only_paths;
    *ret = (struct sandbox_template){
        .outer_uid_base = description->outer_uid_base,
        .outer_uid_count = description->outer_uid_count,
        .network = description->network,
        .scratch_bytes = description->limits.scratch_bytes,
        .scratch_inodes = description->limits.scratch_inodes,
        .read_only_paths = copy_strings(read_only_paths, count_strings(read_only_paths)),
        .workspace = strdup(description->workspace),
        .workspace_id = description->workspace_id,
    };
    if (ret->read_only_paths && ret->workspace && interpreter_of(description, &ret->interpreter))
        return true;
    sandbox_template_clear(ret);
    return false;
}

static bool copy_interpreter(const struct interpreter_template *interpreter,
                             struct interpreter_template *ret)
{
    *ret = *interpreter;
    if (interpreter->kind == RUN_INTERPRETER_NONE)
        return true;
    ret->argv = copy_strings(interpreter->argv, count_strings(interpreter->argv));
    ret->environment =
        copy_strings(interpreter->environment, count_strings(interpreter->environment));
    ret->runtime_path =
        copy_strings(interpreter->runtime_path, count_strings(interpreter->runtime_path));
    ret->modules = copy_strings(interpreter->modules, count_strings(interpreter->modules));
    ret->named_modules =
        copy_strings(interpreter->named_modules, count_strings(interpreter->named_modules));
    return ret->argv && ret->environment && ret->runtime_path && ret->modules && ret->named_modules;
}

bool sandbox_template_copy(const struct sandbox_template *template, struct sandbox_template *ret)
{
    struct sandbox_template copy = *template;
    copy.read_only_paths =
        copy_strings(template->read_only_paths, count_strings(template->read_only_paths));
    copy.workspace = strdup(template->workspace);
    bool copied = copy_interpreter(&template->interpreter, &copy.interpreter);
    if (copied && copy.read_only_paths && copy.workspace) {
        *ret = copy;
        return true;
    }
    sandbox_template_clear(&copy);
    return false;
}

struct sandbox_template sandbox_template_without_interpreter(
    const struct sandbox_template *template)
{
    struct sandbox_template without = *template;
    without.interpreter = (struct interpreter_template){.kind = RUN_INTERPRETER_NONE};
    return without;
}

struct sandbox_template sandbox_template_without_copying(const struct sandbox_template *template)
{
    struct sandbox_template without = *template;
    without.interpreter.fork = 0;
    return without;
}

struct sandbox_template sandbox_template_of_trial(const struct sandbox_template *template)
{
    struct sandbox_template trial = sandbox_template_without_copying(template);
    trial.interpreter.is_trial = true;
    return trial;
}

void sandbox_template_clear(struct sandbox_template *template)
{
    free_strings(template->read_only_paths);
    free(template->workspace);
    free_strings(template->interpreter.argv);
    free_strings(template->interpreter.environment);
    free_strings(template->interpreter.runtime_path);
    free_strings(template->interpreter.modules);
    free_strings(template->interpreter.named_modules);
    *template = (struct sandbox_template){.workspace = NULL};
}
