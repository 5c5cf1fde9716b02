/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of endpoints: see endpoint_delivery.h. Runs in the gateway, on the thread inside
 * tool_invoke(). */
#include "gate/endpoint_delivery.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "gate/choice/endpoint_plan.h"
#include "policy/policy.h"
#include "vocabulary/endpoint.h"
#include "vocabulary/environment.h"

#define ORIGIN            "http://127.0.0.1:" STRING_OF(RUN_ENDPOINTS_PORT)
#define STRING_OF(value)  STRING_OF_(value)
#define STRING_OF_(value) #value

/* What a call has had set so far. */
struct setting {
    struct call *call;
    unsigned git_settings;
    bool has_proxy;
};

/* Of a cell behind the policy's variables, as all of its own; each once. */
static bool set(struct setting *setting, const char *name, const char *value)
{
    char ***list = &setting->call->description.environment;
    if (environment_has(setting->call->request.environment, name))
        return true;
    return setting->call->request.session ? environment_add(list, name, value, strlen(value))
                                          : environment_set(list, name, value, strlen(value));
}

/* Of "NAME=value": copies the name, and returns the value. */
static const char *split(const char *pair, char ret_name[ENVIRONMENT_NAME_LIMIT + 1])
{
    const char *value = strchr(pair, '=');
    (void)snprintf(ret_name, ENVIRONMENT_NAME_LIMIT + 1, "%.*s", (int)(value - pair), pair);
    return value + 1;
}

/* The endpoint's URL with that behind it. */
static bool set_url(struct setting *setting, const struct policy_endpoint *endpoint,
                    const char *name, const char *suffix)
{
    CLEANUP_FREE char *value = NULL;
    if (asprintf(&value, ORIGIN "/%s%s", endpoint->order.name, suffix) < 0) {
        value = NULL;
        return false;
    }
    return set(setting, name, value);
}

/* The policy's own, and that of its preset. */
static bool set_urls(struct setting *setting, const struct policy_endpoint *endpoint)
{
    char name[ENVIRONMENT_NAME_LIMIT + 1];
    for (char **pair = endpoint->variables; *pair; pair++) {
        const char *suffix = split(*pair, name);
        if (!set_url(setting, endpoint, name, suffix))
            return false;
    }
    return true;
}

static bool set_constants(struct setting *setting, const struct endpoint_preset *preset)
{
    char name[ENVIRONMENT_NAME_LIMIT + 1];
    for (const char *const *pair = preset->constants; *pair; pair++) {
        const char *value = split(*pair, name);
        if (!set(setting, name, value))
            return false;
    }
    return true;
}

/* git-config(1): settings in variables are numbered. An address that begins as the endpoint's own
 * is taken for one below it. */
static bool set_git(struct setting *setting, const struct policy_endpoint *endpoint)
{
    char key_name[64];
    char value_name[64];
    CLEANUP_FREE char *key = NULL;
    CLEANUP_FREE char *value = NULL;
    unsigned number = setting->git_settings++;
    (void)snprintf(key_name, sizeof(key_name), "GIT_CONFIG_KEY_%u", number);
    (void)snprintf(value_name, sizeof(value_name), "GIT_CONFIG_VALUE_%u", number);
    if (asprintf(&key, "url." ORIGIN "/%s/.insteadOf", endpoint->order.name) < 0)
        key = NULL;
    if (asprintf(&value, "%s/", endpoint->order.base_url) < 0)
        value = NULL;
    return key && value && set(setting, key_name, key) && set(setting, value_name, value);
}

static bool count_git(struct setting *setting)
{
    char count[16];
    (void)snprintf(count, sizeof(count), "%u", setting->git_settings);
    return setting->git_settings == 0 || set(setting, "GIT_CONFIG_COUNT", count);
}

static bool set_preset(struct setting *setting, const struct policy_endpoint *endpoint)
{
    const struct endpoint_preset *preset = endpoint->preset;
    return !preset ||
           (set_constants(setting, preset) && (!preset->is_git || set_git(setting, endpoint)));
}

/* Not toupper(), which follows the host's locale. */
static char in_variable(char character)
{
    if (character == '-')
        return '_';
    if (character < 'a' || character > 'z')
        return character;
    return (char)(character & ~('a' ^ 'A'));
}

/* CODE_EXECUTE_ENDPOINT_NAME, in capitals, with "_" for "-". */
static bool set_own_variable(struct setting *setting, const struct policy_endpoint *endpoint)
{
    char name[ENVIRONMENT_NAME_LIMIT + 1];
    int length = snprintf(name, sizeof(name), "CODE_EXECUTE_ENDPOINT_%s", endpoint->order.name);
    for (int i = 0; i < length && name[i] != '\0'; i++)
        name[i] = in_variable(name[i]);
    return set_url(setting, endpoint, name, "");
}

/* The one port of all tunnels: clients ask it for the host by its name. */
static bool set_proxy(struct setting *setting)
{
    if (setting->has_proxy)
        return true;
    setting->has_proxy = true;
    return set(setting, "HTTPS_PROXY", ORIGIN) && set(setting, "https_proxy", ORIGIN) &&
           set(setting, "NODE_USE_ENV_PROXY", "1");
}

static bool set_variables(struct setting *setting, const struct policy_endpoint *endpoint)
{
    if (endpoint->order.tunnel)
        return set_proxy(setting);
    return set_own_variable(setting, endpoint) && set_urls(setting, endpoint) &&
           set_preset(setting, endpoint);
}

static bool set_all(struct setting *setting)
{
    const struct call *call = setting->call;
    bool is_set = true;
    if (endpoint_plan_of_session(call)) { /* its policy is the session's */
        for (char **name = call->session->endpoints; is_set && *name; name++)
            is_set =
                set_variables(setting, policy_find_endpoint(call->configuration.policy, *name));
    } else {
        for (size_t i = 0; is_set && i < call->endpoint_count; i++)
            is_set = set_variables(setting, call->endpoints[i]);
    }
    return is_set && count_git(setting);
}

bool deliver_endpoint_variables(struct call *call, struct error *error)
{
    struct setting setting = {.call = call};
    if (set_all(&setting))
        return true;
    error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the variables of the endpoints");
    return false;
}
