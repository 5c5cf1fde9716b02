/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists what the machine's own interpreters have beyond their standard libraries, as far as a run
 * can see it. No code runs: see environments/system_packages.h. Runs in the gateway, on the thread
 * inside tool_prepare().
 */
#include "exports/prepare_query.h"

#include "base/cleanup.h"
#include "environments/system_packages.h"
#include "vocabulary/environment.h"
#include "vocabulary/language.h"

/* In the order of enum environment_language. */
static const enum package_language languages[] = {
    [ENVIRONMENT_PYTHON] = PACKAGES_PYTHON, [ENVIRONMENT_JAVASCRIPT] = PACKAGES_JAVASCRIPT};

static json_t *package_list(const struct system_packages *packages)
{
    json_auto_t *list = json_array();
    for (size_t i = 0; i < packages->count; i++) {
        const struct package_facts *facts = &packages->list[i];
        json_t *entry = json_pack("{s:s, s:s?}", "name", facts->name, "version",
                                  facts->version[0] != '\0' ? facts->version : NULL);
        if (json_array_append_new(list, entry) != 0)
            return NULL;
    }
    return TAKE_POINTER(list);
}

/* NULL: no memory. */
static json_t *facts_of(const struct policy *policy, bool sandboxed, unsigned number,
                        const struct policy_language *language)
{
    static char *const nothing[] = {NULL};
    const char *name = environment_language_find(number)->variable;
    const char *own = environment_value(language->environment, name);
    char *const *const shown[] = {policy->read_only ? policy->read_only : nothing,
                                  language->read_only ? language->read_only : nothing, NULL};
    const struct system_view view = {.commands = policy->runtime_path,
                                     .further =
                                         own ? own : environment_value(policy->environment, name),
                                     .shown = sandboxed ? shown : NULL};
    CLEANUP(system_packages_clear) struct system_packages packages = {.count = 0};
    if (!system_packages_read(languages[number], &view, &packages))
        return NULL;
    return json_pack("{s:s, s:s, s:o, s:b}", "name", ENVIRONMENT_SYSTEM, "language", language->name,
                     "packages", package_list(&packages), "complete", (int)!packages.is_cut);
}

json_t *system_facts(const struct configuration *configuration)
{
    const struct sandbox_mode_row *row = sandbox_mode_row(configuration->mode);
    json_auto_t *list = json_array();
    for (unsigned i = 0; !row->has_images && i < ENVIRONMENT_LANGUAGE_COUNT; i++) {
        const struct policy_language *language =
            policy_find_language(configuration->policy, environment_language_find(i)->language);
        bool sandboxed = row->isolation != RUN_ISOLATION_NONE;
        if (language && json_array_append_new(
                            list, facts_of(configuration->policy, sandboxed, i, language)) != 0)
            return NULL;
    }
    return TAKE_POINTER(list);
}
