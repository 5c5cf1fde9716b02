/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing a program's endpoints: see endpoint_plan.h. Runs in the gateway, on the thread inside
 * tool_invoke(). */
#include "gate/choice/endpoint_plan.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "policy/policy.h"
#include "run/describe.h"

#define NAMES_LIMIT 320

static bool refuse(struct error *error, const char *why, const char *remedy)
{
    error_set(error, ERROR_NOT_SUPPORTED, "request: /endpoints: %s", why);
    error_set_hint(error, "%s", remedy);
    return false;
}

static bool refuse_mode(const struct sandbox_mode_row *row, struct error *error)
{
    char names[64] = "";
    for (int i = 0; i < SANDBOX_MODE_COUNT; i++)
        if (!sandbox_mode_row((enum sandbox_mode)i)->no_endpoints)
            text_add_name(names, sizeof(names), sandbox_mode_name((enum sandbox_mode)i));
    error_set(error, ERROR_NOT_SUPPORTED, "request: /endpoints: mode %s reaches none: %s",
              row->name, row->no_endpoints);
    error_set_hint(error, "leave endpoints out, or ask the operator for a mode that has them: %s",
                   names);
    return false;
}

static bool can_have_endpoints(const struct call *call, struct error *error)
{
    const struct sandbox_mode_row *row =
        policy_mode_row(call->configuration.policy, call->configuration.mode);
    if (row->no_endpoints)
        return refuse_mode(row, error);
    return !call->request.network ||
           refuse(error, "a program with network reaches everything, and is held by none of them",
                  "leave network out: endpoints are reached without it");
}

/* Those that this caller may name, as far as they fit. */
static bool join_names(const struct call *call, char names[NAMES_LIMIT])
{
    const struct policy *policy = call->configuration.policy;
    names[0] = '\0';
    for (size_t i = 0; i < policy->endpoint_count; i++) {
        const char *name = policy->endpoints[i].order.name;
        if (narrowing_leaves_endpoint(&call->context.narrowing, name))
            text_add_name(names, NAMES_LIMIT, name);
    }
    return names[0] != '\0';
}

static bool refuse_name(const struct call *call, const char *name, bool is_offered,
                        struct error *error)
{
    char names[NAMES_LIMIT];
    error_set(error, ERROR_POLICY_DENIED, "policy denied: endpoint %s", name);
    bool some = join_names(call, names);
    error_set_hint(error, "leave it out%s%s%s", some ? ", use one of: " : "", some ? names : "",
                   is_offered ? ": the gateway does not offer it to this caller"
                              : ", or ask the operator to add it to the policy's \"endpoints\"");
    return false;
}

static size_t name_length(const char *variable)
{
    return strcspn(variable, "=") + 1;
}

/* The variable that both set; NULL: none. */
static const char *shared_variable(const struct policy_endpoint *one,
                                   const struct policy_endpoint *other)
{
    for (char **mine = one->variables; *mine; mine++)
        for (char **theirs = other->variables; *theirs; theirs++)
            if (strncmp(*mine, *theirs, name_length(*mine)) == 0)
                return *mine;
    return NULL;
}

static bool check_variables(const struct call *call, const struct policy_endpoint *chosen,
                            struct error *error)
{
    for (size_t i = 0; i < call->endpoint_count; i++) {
        const char *variable = shared_variable(call->endpoints[i], chosen);
        if (!variable)
            continue;
        error_set(error, ERROR_POLICY_DENIED, "policy denied: endpoints %s and %s both set %.*s",
                  call->endpoints[i]->order.name, chosen->order.name,
                  (int)name_length(variable) - 1, variable);
        error_set_hint(error, "name one of the two");
        return false;
    }
    return true;
}

/* The sandbox of a session was made, and its variables were set, for those of its first cell. */
static bool session_has(const struct call *call, const char *name, struct error *error)
{
    if (!call->session || string_list_contains(call->session->endpoints, name))
        return true;
    error_set(error, ERROR_INVALID_INPUT,
              "request: /endpoints: the session was begun without the endpoint %s", name);
    error_set_hint(error,
                   "begin another session with \"session\": \"" SESSION_NEW "\", and name in "
                   "its first cell the endpoints of all its cells");
    return false;
}

static bool choose(struct call *call, const char *name, struct error *error)
{
    const struct policy_endpoint *endpoint = policy_find_endpoint(call->configuration.policy, name);
    if (!endpoint || !narrowing_leaves_endpoint(&call->context.narrowing, name))
        return refuse_name(call, name, endpoint != NULL, error);
    if (!session_has(call, name, error))
        return false;
    if (!check_variables(call, endpoint, error))
        return false;
    call->endpoints[call->endpoint_count++] = endpoint;
    return true;
}

/* Of a tunnel the program itself checks the certificate. */
static bool show_authorities(struct call *call)
{
    static const char *const paths[] = {"/etc/ssl", "/usr/share/ca-certificates", NULL};
    bool has_tunnel = false;
    for (size_t i = 0; i < call->endpoint_count; i++)
        has_tunnel |= call->endpoints[i]->order.tunnel;
    return !has_tunnel || string_list_append_all(&call->description.read_only_paths, paths);
}

bool endpoint_plan_of_session(const struct call *call)
{
    return call->session && call->session->endpoints;
}

bool endpoint_plan(struct call *call, struct error *error)
{
    char *const *names = call->request.endpoints;
    call->endpoint_count = 0;
    /* Another interpreter of such a session is made as its first one was. */
    if (endpoint_plan_of_session(call))
        describe_endpoints(&call->description);
    if (!names || !names[0])
        return true;
    if (!can_have_endpoints(call, error))
        return false;
    describe_endpoints(&call->description);
    for (; *names; names++)
        if (!choose(call, *names, error))
            return false;
    if (show_authorities(call))
        return true;
    error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the run's description");
    return false;
}

static void write_list(struct json_draft *draft, const char *name, char *const *list)
{
    json_draft_open(draft, name, '[');
    for (; *list; list++)
        json_draft_string(draft, NULL, *list);
    json_draft_close(draft, ']');
}

static void write_rules(struct json_draft *draft, const struct egress_endpoint *order)
{
    json_draft_open(draft, "allow", '[');
    for (size_t i = 0; i < order->rule_count; i++) {
        json_draft_open(draft, NULL, '{');
        write_list(draft, "methods", order->rules[i].methods);
        write_list(draft, "paths", order->rules[i].paths);
        json_draft_close(draft, '}');
    }
    json_draft_close(draft, ']');
}

/* Without what only the broker needs to know. */
static void write_shown(struct json_draft *draft, const struct policy_endpoint *endpoint)
{
    const struct egress_endpoint *order = &endpoint->order;
    write_rules(draft, order);
    json_draft_string(draft, "base_url", order->base_url);
    json_draft_string(draft, "description", endpoint->description);
    json_draft_string(draft, "name", order->name);
    json_draft_boolean(draft, "private", order->private_addresses != 0);
    json_draft_string(draft, "secret", endpoint->secret);
    json_draft_string(draft, "sha256", endpoint->sha256);
    json_draft_boolean(draft, "tunnel", order->tunnel != 0);
    json_draft_string(
        draft, "warning",
        order->tunnel ? "nobody sees what goes through a tunnel: it is a way to upload" : NULL);
}

void endpoint_plan_write(struct json_draft *draft, const char *name, const struct call *call,
                         bool shown)
{
    if (call->endpoint_count == 0)
        return;
    json_draft_open(draft, name, '[');
    for (size_t i = 0; i < call->endpoint_count; i++) {
        const struct policy_endpoint *endpoint = call->endpoints[i];
        json_draft_open(draft, NULL, '{');
        if (shown) {
            write_shown(draft, endpoint);
        } else {
            json_draft_string(draft, "name", endpoint->order.name);
            json_draft_string(draft, "sha256", endpoint->sha256);
        }
        json_draft_close(draft, '}');
    }
    json_draft_close(draft, ']');
}
