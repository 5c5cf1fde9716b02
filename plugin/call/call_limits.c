/* SPDX-License-Identifier: Apache-2.0 */
/* Weighs what a request asks for against what its caller may have. Runs in the gateway, on the
 * calling thread. */
#include "call/call_limits.h"

#include <string.h>

#include "call/capability_check.h"
#include "run/describe.h"

static bool is_wall_time(const struct request_field *field)
{
    return strcmp(field->policy_limit, "wall_ms") == 0;
}

const struct policy_limit *call_limit(const struct call *call, const struct policy_limits *limits,
                                      const struct request_field *field)
{
    if (is_wall_time(field) && call->request.shape == REQUEST_SANDBOX_EXEC)
        return &limits->sandbox_exec_wall_ms;
    return policy_limit_at(limits, policy_limit_find(field->policy_limit));
}

/* A question about a policy comes from no host: the policy alone answers. */
static bool may_extend(const struct call *call)
{
    const struct capability_need need = {.capability = CAPABILITY_LIMITS_EXTENDED};
    if (call->host_mistake != HOST_SOUND)
        return capability_policy_grants(call, &need);
    return capability_is_granted(call, CAPABILITY_LIMITS_EXTENDED);
}

static uint64_t most_of(const struct call *call, const struct request_field *field)
{
    const struct policy_limit *limit = call_limit(call, &call->limits, field);
    bool extended = limit->maximum > limit->default_value && may_extend(call);
    return extended ? limit->maximum : limit->default_value;
}

static bool refuse_limit(const struct call *call, const struct request_field *field, uint64_t asked,
                         struct error *error)
{
    uint64_t ceiling = call_limit(call, &call->limits, field)->maximum;
    bool narrowed = ceiling < call_limit(call, &call->language->limits, field)->maximum;
    error_set(error, ERROR_LIMIT_TOO_HIGH,
              "request: /%s: %llu is more than the %s ceiling of %llu for %s", field->name,
              (unsigned long long)asked, narrowed ? "gateway's" : "policy's",
              (unsigned long long)ceiling, call->language->name);
    error_set_hint(error, "set %s to %llu at most, or leave it out", field->name,
                   (unsigned long long)most_of(call, field));
    return false;
}

static bool settle_limit(struct call *call, const struct request_field *field, struct error *error)
{
    const struct policy_limit *limit = call_limit(call, &call->limits, field);
    uint64_t asked = request_field_number(field, &call->request);
    uint64_t *of_run =
        describe_limit(&call->description.limits, policy_limit_find(field->policy_limit));
    *of_run = limit->default_value;
    if (asked > limit->maximum)
        return refuse_limit(call, field, asked, error);
    if (asked > 0)
        *of_run = asked;
    return true;
}

bool call_limits_settle(struct call *call, struct error *error)
{
    size_t count;
    const struct request_field *fields = request_fields(&count);
    struct run_limits *run = &call->description.limits;
    describe_limits(&call->limits, run);
    for (size_t i = 0; i < count; i++)
        if (fields[i].policy_limit && !settle_limit(call, &fields[i], error))
            return false;
    /* More time is of no use without the processor's share of it. */
    if (call->request.timeout_ms > run->cpu_ms)
        run->cpu_ms =
            run->wall_ms < call->limits.cpu_ms.maximum ? run->wall_ms : call->limits.cpu_ms.maximum;
    return true;
}

void call_limit_hint(const struct call *call, const char *limit, struct error *error)
{
    const struct request_field *field = request_field_of_limit(limit);
    if (!field)
        return;
    uint64_t asked = request_field_number(field, &call->request);
    uint64_t had = asked > 0 ? asked : call_limit(call, &call->limits, field)->default_value;
    uint64_t most = most_of(call, field);
    const char *rest = error_code_hint(error->code);
    if (had < most)
        error_set_hint(error, "%s, or set %s, up to %llu", rest, field->name,
                       (unsigned long long)most);
    else
        error_set_hint(error, "%s: %llu %s is the most that this caller may have", rest,
                       (unsigned long long)had, field->unit);
}
