/* SPDX-License-Identifier: Apache-2.0 */
/* Asking policy and host. Runs in the gateway, on the thread inside tool_invoke(). */
#include "call/capability_check.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "call/call_limits.h"
#include "host/host.h"
#include "request/request_fields.h"

/* A member that asks for a limit needs it only for more than the default. */
static bool needs_capability(const struct call *call, const struct request_field *field)
{
    return field->capability != CAPABILITY_EXEC && request_field_is_given(field, &call->request) &&
           (!field->policy_limit || request_field_number(field, &call->request) >
                                        call_limit(call, &call->limits, field)->default_value);
}

static bool is_listed(enum capability capability, const struct capability_need *needs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (needs[i].capability == capability)
            return true;
    return false;
}

static size_t need_tools(const struct call *call, struct capability_need *ret)
{
    for (size_t i = 0; i < call->tools.count; i++)
        ret[i] = (struct capability_need){CAPABILITY_TOOLS, call->tools.items[i].name};
    return call->tools.count;
}

static size_t need_endpoints(const struct call *call, struct capability_need *ret)
{
    for (size_t i = 0; i < call->endpoint_count; i++)
        ret[i] = (struct capability_need){CAPABILITY_ENDPOINTS, call->endpoints[i]->order.name};
    return call->endpoint_count;
}

/* A cell can use the secrets that its session was begun with. */
static size_t need_secrets(const struct call *call, struct capability_need *ret)
{
    const char *names[REQUEST_SECRETS_LIMIT];
    size_t count = call_secrets(call, names);
    for (size_t i = 0; i < count; i++)
        ret[i] = (struct capability_need){CAPABILITY_SECRETS, names[i]};
    return count;
}

size_t capability_needs(const struct call *call, struct capability_need ret[CAPABILITY_NEEDS_LIMIT])
{
    size_t field_count;
    const struct request_field *fields = request_fields(&field_count);
    size_t count = 0;
    ret[count++] = (struct capability_need){.capability = CAPABILITY_EXEC};
    enum capability of_mode =
        policy_mode_row(call->configuration.policy, call->configuration.mode)->needs;
    if (of_mode != CAPABILITY_EXEC)
        ret[count++] = (struct capability_need){.capability = of_mode};
    for (size_t i = 0; i < field_count; i++) {
        if (fields[i].capability == CAPABILITY_SECRETS)
            count += need_secrets(call, ret + count);
        else if (fields[i].capability == CAPABILITY_TOOLS)
            count += need_tools(call, ret + count);
        else if (fields[i].capability == CAPABILITY_ENDPOINTS)
            count += need_endpoints(call, ret + count);
        else if (needs_capability(call, &fields[i]) && !is_listed(fields[i].capability, ret, count))
            ret[count++] = (struct capability_need){.capability = fields[i].capability};
    }
    return count;
}

bool capability_policy_grants(const struct call *call, const struct capability_need *need)
{
    return capability_list_grants(call->configuration.policy->capabilities, need->capability,
                                  need->parameter) &&
           narrowing_leaves_capability(&call->context.narrowing, need->capability, need->parameter);
}

/* No parameter of any capability. A host that grants it grants names that it does not know, so its
 * grant of a parameter means nothing. */
#define NO_PARAMETER "!"

/* The plain name first. It is the only question that a host without parameters can answer: if it
 * denies the plain name, its list of grants has no parameter, and NO_PARAMETER reveals a list of
 * denials. */
static bool host_grants(const struct call *call, const struct capability_need *need,
                        const char *text)
{
    char nonsense[CAPABILITY_TEXT_SIZE];
    if (host_grants_capability(&call->host, capability_name(need->capability)))
        return true;
    if (!need->parameter)
        return false;
    capability_text(need->capability, NO_PARAMETER, nonsense);
    return !host_grants_capability(&call->host, nonsense) &&
           host_grants_capability(&call->host, text);
}

/* The members that the request can leave out to do without the capability; "" where every request
 * needs it. */
static void members_that_need(const struct call *call, enum capability capability, char *ret,
                              size_t size)
{
    size_t count;
    const struct request_field *fields = request_fields(&count);
    size_t used = 0;
    ret[0] = '\0';
    for (size_t i = 0; i < count && used < size; i++)
        if (fields[i].capability == capability && needs_capability(call, &fields[i]))
            used += (size_t)snprintf(ret + used, size - used, "%s%s", used > 0 ? " and " : "",
                                     fields[i].name);
}

/* With a remedy; text is the need's. */
static void refuse_capability(const struct call *call, const struct capability_need *need,
                              const char *text, struct error *error)
{
    error_set(error, ERROR_ACCESS_DENIED, "access denied: %s", text);
    char members[64];
    char either[sizeof(members) + 16] = "no change of the request helps";
    members_that_need(call, need->capability, members, sizeof(members));
    if (need->capability == CAPABILITY_SECRETS && members[0] == '\0')
        (void)snprintf(members, sizeof(members), "the session, which has this secret,");
    if (members[0] != '\0')
        (void)snprintf(either, sizeof(either), "leave %s out", members);
    const char *join = members[0] != '\0' ? ", or" : ":";
    if (capability_policy_grants(call, need))
        error_set_hint(error, "%s%s ask the gateway's operator to grant %s", either, join, text);
    else if (capability_list_grants(call->configuration.policy->capabilities, need->capability,
                                    need->parameter))
        error_set_hint(error, "%s: the gateway grants this caller less than the policy does",
                       either);
    else
        error_set_hint(error, "%s%s ask the operator to add %s to the policy's \"capabilities\"",
                       either, join, text);
}

bool capability_is_granted(const struct call *call, enum capability capability)
{
    return capability_is_granted_for(call, capability, NULL);
}

bool capability_is_granted_for(const struct call *call, enum capability capability,
                               const char *parameter)
{
    const struct capability_need need = {.capability = capability, .parameter = parameter};
    char text[CAPABILITY_TEXT_SIZE];
    capability_text(capability, parameter, text);
    return capability_policy_grants(call, &need) && host_grants(call, &need, text);
}

static bool check(const struct call *call, bool ask_host, struct error *error)
{
    struct capability_need needs[CAPABILITY_NEEDS_LIMIT];
    size_t count = capability_needs(call, needs);
    for (size_t i = 0; i < count; i++) {
        char text[CAPABILITY_TEXT_SIZE];
        capability_text(needs[i].capability, needs[i].parameter, text);
        if (capability_policy_grants(call, &needs[i]) &&
            (!ask_host || host_grants(call, &needs[i], text)))
            continue;
        refuse_capability(call, &needs[i], text, error);
        return false;
    }
    return true;
}

bool capability_check(const struct call *call, struct error *error)
{
    return check(call, true, error);
}

bool capability_check_policy(const struct call *call, struct error *error)
{
    return check(call, false, error);
}
