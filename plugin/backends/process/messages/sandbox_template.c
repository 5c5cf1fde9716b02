/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the comparison and the copies of templates: see sandbox_template.h. */
#include "backends/process/messages/sandbox_template.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "backends/process/messages/process_options.h"
#include "base/cleanup.h"
#include "base/string_list.h"

/* The members that are lists of strings; those of an interpreter are NULL where there is none. */
enum list { PATHS, ARGUMENTS, VARIABLES, RUNTIME_PATH, MODULES, NAMED_MODULES, LIST_COUNT };

static char ***list_of(struct sandbox_template *template, enum list which)
{
    char ***const lists[LIST_COUNT] = {
        [PATHS] = &template->read_only_paths,
        [ARGUMENTS] = &template->interpreter.argv,
        [VARIABLES] = &template->interpreter.environment,
        [RUNTIME_PATH] = &template->interpreter.runtime_path,
        [MODULES] = &template->interpreter.modules,
        [NAMED_MODULES] = &template->interpreter.named_modules,
    };
    return lists[which];
}

static bool same_strings(char *const *one, char *const *other)
{
    for (; one && other && *one && *other; one++, other++)
        if (strcmp(*one, *other) != 0)
            return false;
    return (one && *one) == (other && *other);
}

static bool same_interpreter(const struct interpreter_template *one,
                             const struct interpreter_template *other)
{
    return one->kind == other->kind && one->fork == other->fork &&
           one->program_argument == other->program_argument &&
           one->renew_runs == other->renew_runs && one->renew_ms == other->renew_ms;
}

bool sandbox_template_equal(const struct sandbox_template *one,
                            const struct sandbox_template *other)
{
    if (one->isolation != other->isolation || one->outer_uid_base != other->outer_uid_base ||
        one->outer_uid_count != other->outer_uid_count || one->network != other->network ||
        one->endpoints != other->endpoints || one->scratch_bytes != other->scratch_bytes ||
        one->scratch_inodes != other->scratch_inodes ||
        strcmp(one->workspace, other->workspace) != 0 ||
        strcmp(one->scratch_directory, other->scratch_directory) != 0 ||
        !directory_id_equal(&one->workspace_id, &other->workspace_id) ||
        one->runner != other->runner || one->tool_command != other->tool_command ||
        one->installer_commands != other->installer_commands ||
        !same_interpreter(&one->interpreter, &other->interpreter))
        return false;
    struct sandbox_template first = *one;
    struct sandbox_template second = *other;
    for (int i = 0; i < LIST_COUNT; i++)
        if (!same_strings(*list_of(&first, (enum list)i), *list_of(&second, (enum list)i)))
            return false;
    return true;
}

/* Makes *ret a template that owns copies of everything, and of the interpreter's arguments and
 * variables at most so many. */
static bool own_copies(struct sandbox_template template, size_t arguments, size_t variables,
                       struct sandbox_template *ret)
{
    template.workspace = strdup(template.workspace);
    template.scratch_directory = strdup(template.scratch_directory);
    bool copied = template.workspace && template.scratch_directory;
    for (int i = 0; i < LIST_COUNT; i++) {
        char ***list = list_of(&template, (enum list)i);
        size_t most = i == ARGUMENTS ? arguments : i == VARIABLES ? variables : SIZE_MAX;
        if (!*list)
            continue;
        *list = string_list_copy(*list, most);
        copied = copied && *list;
    }
    if (copied)
        *ret = template;
    else
        sandbox_template_clear(&template);
    return copied;
}

bool sandbox_template_of(const struct run_description *description, struct sandbox_template *ret)
{
    static char none[] = "";
    CLEANUP(process_options_clear) struct process_options options = {.scratch_directory = NULL};
    const struct run_preparation *preparation = &description->preparation;
    if (description->isolation == RUN_ISOLATION_UNPRIVILEGED &&
        !process_options_read(&description->options, &options))
        return false;
    struct sandbox_template template = {
        .isolation = description->isolation,
        .outer_uid_base = description->outer_uid_base,
        .outer_uid_count = description->outer_uid_count,
        .network = description->network,
        .endpoints = description->endpoints,
        .endpoints_fd = -1,
        .scratch_bytes = description->limits.scratch_bytes,
        .scratch_inodes = description->limits.scratch_inodes,
        .input_bytes = run_description_input_bytes(description),
        .read_only_paths = description->read_only_paths,
        .workspace = description->workspace,
        .workspace_id = description->workspace_id,
        .scratch_directory = options.scratch_directory ? options.scratch_directory : none,
        .runner = preparation->runner,
        .tool_command = description->tool_command,
        .installer_commands = description->installer_commands,
    };
    if (preparation->interpreter != RUN_INTERPRETER_NONE)
        template.interpreter = (struct interpreter_template){
            .kind = preparation->interpreter,
            .fork = preparation->fork,
            .argv = description->argv,
            .program_argument = preparation->program_argument,
            .environment = description->environment,
            .runtime_path = description->runtime_path,
            .modules = preparation->modules,
            .named_modules = preparation->named_modules,
            .renew_runs = preparation->renew_runs,
            .renew_ms = preparation->renew_ms,
        };
    return own_copies(template, preparation->argument_count, preparation->environment_count, ret);
}

bool sandbox_template_copy(const struct sandbox_template *template, struct sandbox_template *ret)
{
    return own_copies(*template, SIZE_MAX, SIZE_MAX, ret);
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

void sandbox_template_clear(struct sandbox_template *template)
{
    for (int i = 0; i < LIST_COUNT; i++)
        string_list_free(*list_of(template, (enum list)i));
    free(template->workspace);
    free(template->scratch_directory);
    *template = (struct sandbox_template){.workspace = NULL};
}
