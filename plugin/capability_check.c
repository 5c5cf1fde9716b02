/* SPDX-License-Identifier: Apache-2.0 */
/* Asking policy and host. Runs in the gateway, on the thread inside tool_invoke(). */
#include "capability_check.h"

#include "cleanup.h"
#include "host.h"

size_t capability_needs(const struct call *call, struct capability_need ret[CAPABILITY_NEEDS_LIMIT])
{
    const struct request *request = &call->request;
    const struct {
        bool needed;
        enum capability capability;
    } wholes[] = {
        {true, CAPABILITY_EXEC},
        {call->configuration.mode == SANDBOX_MODE_NONE, CAPABILITY_MODE_NONE},
        {request->network, CAPABILITY_NETWORK},
        {request->file_count > 0, CAPABILITY_FILES},
        {request->image != NULL, CAPABILITY_IMAGE},
        {request->session != NULL, CAPABILITY_SESSION},
        {request->timeout_ms > call_usual_wall_ms(call), CAPABILITY_LIMITS_EXTENDED},
    };
    size_t count = 0;
    for (size_t i = 0; i < COUNT_OF(wholes); i++)
        if (wholes[i].needed)
            ret[count++] = (struct capability_need){.capability = wholes[i].capability};
    for (size_t i = 0; i < request->secret_count; i++)
        ret[count++] = (struct capability_need){CAPABILITY_SECRETS, request->secrets[i].name};
    return count;
}

bool capability_policy_grants(const struct call *call, const struct capability_need *need)
{
    return capability_list_grants(call->configuration.policy->capabilities, need->capability,
                                  need->parameter) &&
           narrowing_leaves_capability(&call->context.narrowing, need->capability, need->parameter);
}

/* No parameter of any capability: a host that grants it says yes to what it does not know, so its
 * yes to a parameter says nothing. */
#define NO_PARAMETER "!"

/* The whole first. What a host without parameters answers to that is all it can say: where it does
 * not grant the whole, its list of grants has no parameter, and a list of denials is told by
 * NO_PARAMETER. */
static bool host_grants(const struct call *call, const struct capability_need *need,
                        const char *text)
{
    char nonsense[CAPABILITY_TEXT_SIZE];
    if (host_grants_capability(&call->host, capability_name(need->capability)))
        return true;
    if (need->parameter == NULL)
        return false;
    capability_text(need->capability, NO_PARAMETER, nonsense);
    return !host_grants_capability(&call->host, nonsense) &&
           host_grants_capability(&call->host, text);
}

/* What a request can do without the capability; NULL: it needs it whatever it asks for. */
static const char *way_without(enum capability capability)
{
    static const char *const ways[CAPABILITY_COUNT] = {
        [CAPABILITY_NETWORK] = "leave network out",
        [CAPABILITY_SECRETS] = "leave the secret out",
        [CAPABILITY_FILES] = "leave files out",
        [CAPABILITY_IMAGE] = "leave image out",
        [CAPABILITY_SESSION] = "leave session out",
        [CAPABILITY_LIMITS_EXTENDED] = "leave timeout_ms out",
    };
    return ways[capability];
}

void capability_refuse(const struct call *call, const struct capability_need *need,
                       struct error *error)
{
    char text[CAPABILITY_TEXT_SIZE];
    capability_text(need->capability, need->parameter, text);
    error_set(error, ERROR_ACCESS_DENIED, "access denied: %s", text);
    const char *way = way_without(need->capability);
    const char *either = way != NULL ? way : "no change of the request helps";
    const char *join = way != NULL ? ", or" : ":";
    if (capability_policy_grants(call, need))
        error_set_hint(error, "%s%s ask the gateway's operator to grant %s", either, join, text);
    else if (capability_list_grants(call->configuration.policy->capabilities, need->capability,
                                    need->parameter))
        error_set_hint(error, "%s: the gateway gives this caller less than the policy", either);
    else
        error_set_hint(error, "%s%s ask the operator to add %s to the policy's \"capabilities\"",
                       either, join, text);
}

bool capability_is_granted(const struct call *call, enum capability capability)
{
    const struct capability_need need = {.capability = capability};
    return capability_policy_grants(call, &need) &&
           host_grants(call, &need, capability_name(capability));
}

bool capability_check(const struct call *call, struct error *error)
{
    struct capability_need needs[CAPABILITY_NEEDS_LIMIT];
    size_t count = capability_needs(call, needs);
    for (size_t i = 0; i < count; i++) {
        char text[CAPABILITY_TEXT_SIZE];
        capability_text(needs[i].capability, needs[i].parameter, text);
        if (capability_policy_grants(call, &needs[i]) && host_grants(call, &needs[i], text))
            continue;
        capability_refuse(call, &needs[i], error);
        return false;
    }
    return true;
}
