/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing a run's packages: see package_plan.h. Runs in the gateway, on the thread inside
 * tool_invoke(). */
#include "gate/choice/package_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "call/capability_check.h"
#include "policy/policy.h"
#include "run/describe.h"
#include "vocabulary/environment.h"
#include "vocabulary/language.h"

#define NAMES_LIMIT 320

static bool refuse_mode(const struct sandbox_mode_row *row, struct error *error)
{
    error_set(error, ERROR_NOT_SUPPORTED, "request: /packages: mode %s has none: %s", row->name,
              row->no_packages);
    return false;
}

static bool refuse_name(const struct call *call, const char *name, struct error *error)
{
    const struct policy *policy = call->configuration.policy;
    char names[NAMES_LIMIT] = "";
    for (size_t i = 0; i < policy->environment_count; i++)
        text_add_name(names, sizeof(names), policy->environments[i].name);
    error_set(error, ERROR_POLICY_DENIED, "policy denied: packages %s", name);
    error_set_hint(error,
                   "leave packages out%s%s, or ask the operator to add it to the policy's "
                   "\"environments\"",
                   names[0] != '\0' ? ", use one of: " : "", names);
    return false;
}

/* A program of a shell may start the interpreter. */
static bool fits_language(const struct call *call, const struct policy_environment *environment)
{
    const char *language = environment_language_find(environment->language)->language;
    return strcmp(call->request.language->name, language) == 0 ||
           call->request.language->runner == RUN_RUNNER_SHELL;
}

static bool refuse_language(const struct call *call, const struct policy_environment *environment,
                            struct error *error)
{
    error_set(error, ERROR_NOT_SUPPORTED,
              "request: /packages: \"%s\" has packages of %s, and the program is in %s",
              environment->name, environment_language_find(environment->language)->language,
              call->request.language->name);
    error_set_hint(error, "leave packages out, or write the program in %s",
                   environment_language_find(environment->language)->language);
    return false;
}

static const struct environment_language_row *language_of(
    const struct policy_environment *environment)
{
    return environment_language_find(environment->language);
}

/* The set's directory behind or ahead of another value (NULL: none); new. */
static char *join(const char *ahead, const char *behind)
{
    char *joined;
    if (!ahead || ahead[0] == '\0')
        return strdup(behind);
    if (!behind || behind[0] == '\0')
        return strdup(ahead);
    return asprintf(&joined, "%s:%s", ahead, behind) < 0 ? NULL : joined;
}

/* Where the program sees it. */
static char *directory_of(const struct call *call)
{
    char *directory;
    bool in_image = sandbox_mode_row(call->configuration.mode)->packages_in_image;
    return asprintf(&directory, "%s%s", in_image ? RUN_PACKAGES : call->packages.content,
                    language_of(call->environment)->directory) < 0
               ? NULL
               : directory;
}

static bool set_variable(char ***list, const char *name, const char *value)
{
    return value && environment_set(list, name, value, strlen(value));
}

static bool put_into_image(struct call *call)
{
    struct run_packages *packages = &call->description.packages;
    free(packages->path);
    free(packages->sha256);
    packages->path = strdup(call->packages.directory);
    packages->sha256 = strdup(call->packages.sha256);
    packages->bytes = call->environment->bytes;
    packages->inodes = call->environment->inodes;
    return packages->path && packages->sha256;
}

static bool show(struct call *call)
{
    if (sandbox_mode_row(call->configuration.mode)->packages_in_image)
        return put_into_image(call);
    return string_list_append(&call->description.read_only_paths, call->packages.content);
}

/* Ahead of what the policy says. */
bool package_plan_add(struct call *call)
{
    struct run_description *description = &call->description;
    if (!call->environment)
        return true;
    const char *variable = language_of(call->environment)->variable;
    CLEANUP_FREE char *directory = directory_of(call);
    CLEANUP_FREE char *value =
        directory ? join(directory, environment_value(description->environment, variable)) : NULL;
    return value && set_variable(&description->environment, variable, value) && show(call);
}

/* For a caller without rights nothing is read or started: it is refused later. So it is for a
 * question about a policy. */
static bool may_look(const struct call *call)
{
    return call->host_mistake == HOST_SOUND && capability_is_granted(call, CAPABILITY_EXEC);
}

bool package_plan(struct call *call, struct error *error)
{
    const struct policy *policy = call->configuration.policy;
    const struct sandbox_mode_row *row = sandbox_mode_row(call->configuration.mode);
    const char *name = call->request.packages;
    package_set_clear(&call->packages);
    call->environment = NULL;
    if (!name || strcmp(name, ENVIRONMENT_SYSTEM) == 0)
        return true;
    const struct policy_environment *environment = policy_find_environment(policy, name);
    if (!environment)
        return refuse_name(call, name, error);
    if (!row->packages_for)
        return refuse_mode(row, error);
    if (!fits_language(call, environment))
        return refuse_language(call, environment, error);
    if (!may_look(call))
        return true;
    if (!package_set_find(policy, environment, call->configuration.mode, &call->packages, error))
        return false;
    call->environment = environment;
    return true;
}

bool package_plan_fits_image(const struct call *call, const char *image_id, struct error *error)
{
    return !call->environment ||
           package_set_fits_image(call->environment, &call->packages, image_id, error);
}

bool package_plan_keep(struct call *call)
{
    if (!call->environment || call->request.session)
        return true;
    const char *variable = language_of(call->environment)->variable;
    const char *asked = environment_value(call->request.environment, variable);
    CLEANUP_FREE char *directory = asked ? directory_of(call) : NULL;
    CLEANUP_FREE char *value = directory ? join(asked, directory) : NULL;
    return !asked || (value && set_variable(&call->description.environment, variable, value));
}

/* Large ones, like those that a program names: the interpreter's end takes no longer for them. */
static bool name_modules(struct call *call)
{
    const struct run_preparation *preparation = &call->description.preparation;
    if (preparation->interpreter != RUN_INTERPRETER_PYTHON ||
        strcmp(language_of(call->environment)->language, call->language->name) != 0)
        return true;
    return string_list_append_all(&call->description.preparation.named_modules,
                                  (const char *const *)call->environment->prepare);
}

bool package_plan_prepare(struct call *call)
{
    /* Code of packages runs in a sandbox alone, so that no interpreter outside is copied. */
    struct policy_preparation preparation = call->language->preparation;
    preparation.fork = false;
    preparation.named_count = 0;
    return preparation_fill(&preparation, &call->request, call->language->file,
                            &call->description) &&
           name_modules(call);
}

/* Of a cell that adds an interpreter to its session, the first variables are the session's. */
static bool put_first(struct call *call, const char *variable, const char *value)
{
    struct run_description *description = &call->description;
    CLEANUP(cleanup_string_list) char **list = string_list_new(0);
    if (!list || !set_variable(&list, variable, value) ||
        !string_list_append_all(&list, (const char *const *)description->environment))
        return false;
    string_list_free(description->environment);
    description->environment = TAKE_POINTER(list);
    description->preparation.environment_count++;
    return true;
}

bool package_plan_of_session(struct call *call)
{
    const struct package_set *set = &call->session->packages;
    if (call->environment || !set->name)
        return true;
    if (!package_set_copy(set, &call->packages))
        return false;
    call->environment = policy_find_environment(call->configuration.policy, set->name);
    if (!call->environment) /* a session ends where the policy is another one */
        return true;
    CLEANUP_FREE char *directory = directory_of(call);
    return directory && put_first(call, language_of(call->environment)->variable, directory);
}

void package_plan_write(struct json_draft *draft, const char *name, const struct call *call,
                        bool shown)
{
    if (!call->packages.name)
        return;
    json_draft_open(draft, name, '{');
    if (shown)
        json_draft_string(draft, "description",
                          call->environment ? call->environment->description : "");
    json_draft_string(draft, "name", call->packages.name);
    json_draft_string(draft, "sha256", call->packages.sha256);
    json_draft_close(draft, '}');
}
