/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing policy and mode. Runs in the gateway, any thread; files are read outside the lock. */
#include "policy/configuration.h"

#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "json/json_input.h"
#include "json/json_place.h"

#define CONFIGURATION_BYTES_LIMIT 65536
#define CONFIGURATION_DEPTH_LIMIT 4
#define KEEP_SESSIONS_LIMIT       1024

static pthread_mutex_t configuration_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct configuration in_force; /* policy NULL: none yet */
static bool refused;         /* the first configuration of tool_prepare() was no good ... */
static struct error refusal; /* ... because of this */

void configuration_clear(struct configuration *configuration)
{
    policy_unref(TAKE_POINTER(configuration->policy));
}

#define MODES_LIMIT 64

/* The name by which an operator chooses it. */
static const char *chosen_name(enum sandbox_mode mode)
{
    const struct sandbox_mode_row *row = sandbox_mode_row(mode);
    return row->variant_of ? row->variant_of->name : row->name;
}

static void list_modes(const struct policy *policy, char allowed[MODES_LIMIT])
{
    allowed[0] = '\0';
    for (size_t i = 0; i < COUNT_OF(policy->mode_allowed); i++)
        if (policy->mode_allowed[i])
            text_add_name(allowed, MODES_LIMIT, chosen_name((enum sandbox_mode)i));
}

static void refuse_mode(const struct policy *policy, enum sandbox_mode mode, struct error *error)
{
    char allowed[MODES_LIMIT];
    list_modes(policy, allowed);
    error_set(error, ERROR_MODE_NOT_ALLOWED, "the policy does not allow mode %s (it allows: %s)",
              sandbox_mode_name(mode), allowed);
    if (sandbox_mode_row(mode)->not_allowed)
        error_set_hint(error, "%s", sandbox_mode_row(mode)->not_allowed);
}

static bool refuse_name(const struct policy *policy, const char *sandbox, struct error *error)
{
    char allowed[MODES_LIMIT];
    list_modes(policy, allowed);
    error_set(error, ERROR_UNKNOWN_MODE, "unknown sandbox mode: \"%.40s\"", sandbox);
    error_set_hint(error, "set CODE_EXEC_SANDBOX to a mode that the policy allows: %s", allowed);
    return false;
}

static bool refuse_variant(const struct sandbox_mode_row *row, struct error *error)
{
    const char *of = row->variant_of->name;
    error_set(error, ERROR_UNKNOWN_MODE, "mode %s cannot be chosen by its name", row->name);
    error_set_hint(error,
                   "it is mode %s with another isolation: set \"%s.isolation\" to \"%s\" in the "
                   "policy, and CODE_EXEC_SANDBOX to %s",
                   of, of, row->name, of);
    return false;
}

/* sandbox: a mode's name from the operator, or NULL for the policy's default. */
static bool choose_mode(const struct policy *policy, const char *sandbox, enum sandbox_mode *ret,
                        struct error *error)
{
    enum sandbox_mode mode = policy->default_mode;
    if (sandbox && !sandbox_mode_parse(sandbox, &mode))
        return refuse_name(policy, sandbox, error);
    if (sandbox && sandbox_mode_row(mode)->variant_of)
        return refuse_variant(sandbox_mode_row(mode), error);
    mode = policy_mode_named(policy, mode);
    if (!policy->mode_allowed[mode]) {
        refuse_mode(policy, mode, error);
        return false;
    }
    *ret = mode;
    return true;
}

bool configuration_take_variable(const char *name, size_t limit, char **text, struct error *error)
{
    const char *value = secure_getenv(name);
    if (**text || !value || value[0] == '\0')
        return true;
    if (strlen(value) > limit) {
        error_set(error, ERROR_INVALID_POLICY, "%s is longer than %zu bytes", name, limit);
        return false;
    }
    char *copy = strdup(value);
    if (!copy) {
        error_set(error, ERROR_OUT_OF_MEMORY, "no memory for %s", name);
        return false;
    }
    free(*text);
    *text = copy;
    return true;
}

/* The policy is not shared yet. */
static bool add_environment(struct policy *policy, struct error *error)
{
    for (size_t i = 0; i < SANDBOX_MODE_COUNT; i++) {
        const struct sandbox_mode_row *row = sandbox_mode_row((enum sandbox_mode)i);
        if (row->add_environment && !row->add_environment(&policy->options[i], error))
            return false;
    }
    return true;
}

/* What a configuration is made of. */
struct sources {
    const char *policy_file; /* NULL: the environment's, else the built-in policy */
    const char *sandbox;     /* NULL: the environment's, else the policy's */
    int64_t keep_sessions;   /* of the built-in policy alone: so many may live */
};

/* Whoever wants sessions and has no policy yet is to find that they can be undone and copied. */
#define KEPT_CHECKPOINTS 3

static struct policy *load_policy(const struct sources *sources, struct error *error)
{
    char text[96];
    if (sources->policy_file)
        return policy_load_file(sources->policy_file, error);
    if (sources->keep_sessions == 0)
        return policy_load_builtin(error);
    int length = snprintf(text, sizeof(text),
                          "{\"version\":1,\"sessions\":{\"max_total\":%lld,\"checkpoints\":%d}}",
                          (long long)sources->keep_sessions, KEPT_CHECKPOINTS);
    return policy_load_text("built-in, with sessions", text, (size_t)length, error);
}

static bool load_configuration(const struct sources *sources, struct configuration *ret,
                               struct error *error)
{
    CLEANUP(configuration_clear) struct configuration loaded = {0};
    loaded.policy = load_policy(sources, error);
    if (!loaded.policy || !choose_mode(loaded.policy, sources->sandbox, &loaded.mode, error) ||
        !add_environment(loaded.policy, error))
        return false;
    *ret = loaded;
    loaded.policy = NULL;
    return true;
}

/* An empty variable is a mistake, not a default: it is refused as the mode or file of that name. */
static bool load_from_environment(const struct sources *named, struct configuration *ret,
                                  struct error *error)
{
    struct sources sources = *named;
    if (!sources.policy_file)
        sources.policy_file = secure_getenv("CODE_EXEC_POLICY");
    if (!sources.sandbox)
        sources.sandbox = secure_getenv("CODE_EXEC_SANDBOX");
    return load_configuration(&sources, ret, error);
}

static void put_in_force(struct configuration *loaded)
{
    (void)pthread_mutex_lock(&configuration_mutex);
    struct configuration before = in_force;
    in_force = *loaded;
    refused = false;
    (void)pthread_mutex_unlock(&configuration_mutex);
    loaded->policy = NULL;
    configuration_clear(&before);
}

static void remember_refusal(const struct error *error)
{
    (void)pthread_mutex_lock(&configuration_mutex);
    if (!in_force.policy) {
        refused = true;
        refusal = *error;
    }
    (void)pthread_mutex_unlock(&configuration_mutex);
}

enum state { STATE_NONE, STATE_IN_FORCE, STATE_REFUSED };

static enum state copy_in_force(struct configuration *ret, struct error *error)
{
    enum state state = STATE_NONE;
    (void)pthread_mutex_lock(&configuration_mutex);
    if (in_force.policy) {
        *ret = (struct configuration){.policy = policy_ref(in_force.policy), .mode = in_force.mode};
        state = STATE_IN_FORCE;
    } else if (refused) {
        *error = refusal;
        state = STATE_REFUSED;
    }
    (void)pthread_mutex_unlock(&configuration_mutex);
    return state;
}

/* Unless tool_prepare() or another call was first. */
static void put_in_force_first(const struct configuration *loaded)
{
    (void)pthread_mutex_lock(&configuration_mutex);
    if (!in_force.policy && !refused)
        in_force = (struct configuration){policy_ref(loaded->policy), loaded->mode};
    (void)pthread_mutex_unlock(&configuration_mutex);
}

bool configuration_current(struct configuration *ret, struct error *error)
{
    enum state state = copy_in_force(ret, error);
    if (state != STATE_NONE)
        return state == STATE_IN_FORCE;
    CLEANUP(configuration_clear) struct configuration loaded = {0};
    if (!load_from_environment(&(struct sources){0}, &loaded, error))
        return false;
    put_in_force_first(&loaded);
    state = copy_in_force(ret, error);
    if (state != STATE_NONE)
        return state == STATE_IN_FORCE;
    *ret = (struct configuration){.policy = TAKE_POINTER(loaded.policy), .mode = loaded.mode};
    return true;
}

static bool load_sources(const struct sources *sources, struct configuration *ret,
                         struct error *error)
{
    if (!sources->policy_file || sources->policy_file[0] == '/')
        return load_from_environment(sources, ret, error);
    error_set(error, ERROR_INVALID_POLICY, "configuration: /policy_file: must be an absolute path");
    return false;
}

bool configuration_load(const char *policy_file, const char *sandbox, struct configuration *ret,
                        struct error *error)
{
    return load_sources(&(struct sources){policy_file, sandbox, 0}, ret, error);
}

/* Takes the members; *ret_sweep is set only where it is one of them. */
static bool read_sources(json_t *json, struct sources *ret, bool *ret_sweep, struct error *error)
{
    static const char *const members[] = {"policy_file", "sandbox", "sweep", "keep_sessions", NULL};
    const json_t *sweep = json_object_get(json, "sweep");
    const json_t *sessions = json_object_get(json, "keep_sessions");
    struct json_place root = json_place_root("configuration", ERROR_INVALID_POLICY, error);
    struct json_place sweep_place = json_place_named(&root, "sweep");
    struct json_place sessions_place = json_place_named(&root, "keep_sessions");
    return json_read_known_members(&root, json, members) &&
           json_read_member_string(&root, json, "policy_file", &ret->policy_file) &&
           json_read_member_string(&root, json, "sandbox", &ret->sandbox) &&
           (!sweep || json_read_boolean(&sweep_place, sweep, ret_sweep)) &&
           (!sessions || json_read_integer(&sessions_place, sessions, 1, KEEP_SESSIONS_LIMIT,
                                           &ret->keep_sessions));
}

static bool load_prepared(const char *config_json, bool *ret_sweep, struct configuration *ret,
                          struct error *error)
{
    static const struct json_input_limits limits = {.max_bytes = CONFIGURATION_BYTES_LIMIT,
                                                    .max_depth = CONFIGURATION_DEPTH_LIMIT};
    struct sources sources = {0};
    bool sweep = false;
    if (!config_json)
        return load_from_environment(&sources, ret, error);
    json_auto_t *json = json_input_parse("configuration", config_json,
                                         strnlen(config_json, CONFIGURATION_BYTES_LIMIT + 1),
                                         &limits, ERROR_INVALID_POLICY, error);
    if (!json || !read_sources(json, &sources, &sweep, error))
        return false;
    *ret_sweep = sweep;
    return load_sources(&sources, ret, error);
}

bool configuration_prepare(const char *config_json, bool *ret_sweep, struct error *error)
{
    struct configuration loaded = {0};
    bool sweep = false;
    if (!load_prepared(config_json, &sweep, &loaded, error)) {
        remember_refusal(error);
        return false;
    }
    put_in_force(&loaded);
    *ret_sweep = sweep;
    return true;
}

void configuration_forget(void)
{
    struct configuration none = {0};
    put_in_force(&none);
}

void configuration_after_fork(void)
{
    bool whole = pthread_mutex_trylock(&configuration_mutex) == 0;
    configuration_mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    if (whole)
        return;
    in_force = (struct configuration){0};
    refused = true;
    error_set(&refusal, ERROR_INVALID_POLICY,
              "configuration: the gateway forked while another thread was changing it");
    error_set_hint(&refusal, "call tool_prepare() in the child, or fork before the first call");
}
