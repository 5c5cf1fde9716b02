/* SPDX-License-Identifier: Apache-2.0 */
/* The question about sets of packages. Runs in the gateway, on the thread inside tool_prepare(). */
#include "exports/prepare_query.h"

#include <string.h>

#include "base/cleanup.h"
#include "packages/build/environment_build.h"
#include "packages/package_set.h"
#include "policy/configuration.h"
#include "vocabulary/language.h"
#include "json/json_members.h"
#include "json/json_place.h"

enum action { ACTION_LIST, ACTION_CHECK, ACTION_BUILD, ACTION_GC };

struct query {
    unsigned action;  /* enum action */
    const char *name; /* NULL: all */
};

static const char *const actions[] = {[ACTION_LIST] = "list",
                                      [ACTION_CHECK] = "check",
                                      [ACTION_BUILD] = "build",
                                      [ACTION_GC] = "gc",
                                      NULL};

static bool read_query(const json_t *question, struct query *ret, struct error *error)
{
    static const char *const members[] = {"action", "name", NULL};
    struct json_place root = json_place_root("configuration", ERROR_INVALID_POLICY, error);
    struct json_place place = json_place_named(&root, "environments");
    struct json_place name_place = json_place_named(&place, "name");
    const char *action = NULL;
    *ret = (struct query){0};
    if (!json_read_known_members(&place, question, members) ||
        !json_read_member_string(&place, question, "action", &action) ||
        !json_read_member_string(&place, question, "name", &ret->name))
        return false;
    struct json_place action_place = json_place_named(&place, "action");
    if (!action)
        return json_place_refuse(&action_place, "missing");
    if (!json_choose(&action_place, actions, action, &ret->action))
        return false;
    return ret->action != ACTION_BUILD || ret->name || json_place_refuse(&name_place, "missing");
}

/* Its state; error: NULL where it is ready. */
static json_t *state_of(const struct policy_environment *environment, const struct error *error)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s*, s:s*}", "name", environment->name, "language",
                     environment_language_find(environment->language)->language, "description",
                     environment->description, "lock", environment->lock, "state",
                     error ? "unusable" : "ready", "problem", error ? error->message : NULL, "hint",
                     error ? error->hint : NULL);
}

/* What its build has noted; a list of packages where it was asked for by its name. */
static bool add_facts(const struct package_set *set, bool with_packages, json_t *state)
{
    struct error ignored;
    json_auto_t *about = package_set_about(set->directory, &ignored);
    json_auto_t *packages = with_packages ? package_set_packages(set->directory, &ignored) : NULL;
    json_t *list = json_object_get(packages, "packages");
    static const char *const facts[] = {"sha256", "lock_sha256", "runtime",       "bytes",
                                        "files",  "built_at",    "build_scripts", "mode"};
    for (size_t i = 0; i < COUNT_OF(facts); i++) {
        json_t *fact = json_object_get(about, facts[i]);
        if (fact && json_object_set(state, facts[i], fact) != 0)
            return false;
    }
    if (set->images && json_object_set(state, "images", set->images) != 0)
        return false;
    return json_object_set_new(state, "path", json_string(set->directory)) == 0 &&
           (!list || json_object_set(state, "packages", list) == 0);
}

static json_t *look_at(const struct configuration *configuration,
                       const struct policy_environment *environment, const struct query *query)
{
    struct error error;
    CLEANUP(package_set_clear) struct package_set set = {0};
    bool found =
        sandbox_mode_row(configuration->mode)->packages_for &&
        package_set_find(configuration->policy, environment, configuration->mode, &set, &error);
    if (!sandbox_mode_row(configuration->mode)->packages_for)
        error_set(&error, ERROR_NOT_SUPPORTED, "mode %s has no packages: %s",
                  sandbox_mode_name(configuration->mode),
                  sandbox_mode_row(configuration->mode)->no_packages);
    bool usable =
        found && (query->action != ACTION_CHECK || package_check_whole(environment, &set, &error));
    json_auto_t *state = state_of(environment, usable ? NULL : &error);
    bool made = state && (!found || add_facts(&set, query->name != NULL, state));
    return made ? json_incref(state) : NULL;
}

static bool list(const struct configuration *configuration, const struct query *query,
                 json_t *answer, struct error *error)
{
    const struct policy *policy = configuration->policy;
    json_auto_t *states = json_array();
    for (size_t i = 0; i < policy->environment_count; i++) {
        const struct policy_environment *environment = &policy->environments[i];
        if (query->name && strcmp(query->name, environment->name) != 0)
            continue;
        if (json_array_append_new(states, look_at(configuration, environment, query)) != 0) {
            error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the list of environments");
            return false;
        }
    }
    if (json_object_set(answer, "environments", states) == 0)
        return true;
    error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the list of environments");
    return false;
}

static const struct policy_environment *find(const struct configuration *configuration,
                                             const char *name, struct error *error)
{
    const struct policy_environment *environment =
        policy_find_environment(configuration->policy, name);
    if (!environment) {
        error_set(error, ERROR_INVALID_INPUT, "the policy has no environment \"%s\"", name);
        error_set_hint(error, "add it to the policy's \"environments\"");
    }
    return environment;
}

static bool act(const struct configuration *configuration, const struct query *query,
                json_t *answer, struct error *error)
{
    const struct policy_environment *environment =
        query->name ? find(configuration, query->name, error) : NULL;
    if (query->name && !environment)
        return false;
    if (query->action == ACTION_GC) {
        json_t *removed = build_collect(configuration->policy, error);
        if (removed && json_object_set_new(answer, "removed", removed) != 0)
            error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the list of environments");
        return json_object_get(answer, "removed");
    }
    return query->action != ACTION_BUILD || environment_build(configuration, environment, error);
}

bool environment_query_answer(const json_t *question, json_t *answer, struct error *error)
{
    CLEANUP(configuration_clear) struct configuration configuration = {0};
    struct query query;
    return read_query(question, &query, error) && configuration_current(&configuration, error) &&
           act(&configuration, &query, answer, error) &&
           list(&configuration, &query, answer, error);
}
