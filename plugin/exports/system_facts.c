/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists what the machine's own interpreters have beyond their standard libraries, as far as a run
 * can see it. No code runs: see environments/system_packages.h. Runs in the gateway, on the thread
 * inside tool_prepare().
 */
#include "exports/prepare_query.h"

#include <string.h>

#include "base/cleanup.h"
#include "environments/system_packages.h"
#include "vocabulary/language.h"

static const struct {
    const char *language;
    enum package_language packages;
    const char *variable; /* of further directories */
} interpreters[] = {{"python", PACKAGES_PYTHON, "PYTHONPATH="},
                    {"javascript", PACKAGES_JAVASCRIPT, "NODE_PATH="}};

static const char *find_variable(char *const *environment, const char *name)
{
    for (; environment && *environment; environment++)
        if (strncmp(*environment, name, strlen(name)) == 0)
            return *environment + strlen(name);
    return NULL;
}

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
static json_t *facts_of(const struct policy *policy, bool sandboxed, size_t interpreter,
                        const struct policy_language *language)
{
    static char *const nothing[] = {NULL};
    const char *name = interpreters[interpreter].variable;
    const char *own = find_variable(language->environment, name);
    char *const *const shown[] = {policy->read_only ? policy->read_only : nothing,
                                  language->read_only ? language->read_only : nothing, NULL};
    const struct system_view view = {.commands = policy->runtime_path,
                                     .further =
                                         own ? own : find_variable(policy->environment, name),
                                     .shown = sandboxed ? shown : NULL};
    CLEANUP(system_packages_clear) struct system_packages packages = {.count = 0};
    if (!system_packages_read(interpreters[interpreter].packages, &view, &packages))
        return NULL;
    return json_pack("{s:s, s:s, s:o, s:b}", "name", ENVIRONMENT_SYSTEM, "language", language->name,
                     "packages", package_list(&packages), "complete", (int)!packages.is_cut);
}

json_t *system_facts(const struct configuration *configuration)
{
    const struct sandbox_mode_row *row = sandbox_mode_row(configuration->mode);
    json_auto_t *list = json_array();
    for (size_t i = 0; !row->has_images && i < COUNT_OF(interpreters); i++) {
        const struct policy_language *language =
            policy_find_language(configuration->policy, interpreters[i].language);
        bool sandboxed = row->isolation != RUN_ISOLATION_NONE;
        if (language && json_array_append_new(
                            list, facts_of(configuration->policy, sandboxed, i, language)) != 0)
            return NULL;
    }
    return TAKE_POINTER(list);
}
