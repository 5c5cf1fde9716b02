/* SPDX-License-Identifier: Apache-2.0 */
/* How secrets reach a run's description. Runs in the gateway, on the thread inside tool_invoke().
 */
#include "secret_delivery.h"

#include <string.h>

#include "environment.h"

/* A variable ends at a NUL. */
static bool put_in_environment(struct call *call, const struct request_secret *secret,
                               const struct secret_value *value, struct error *error)
{
    if (memchr(value->memory.bytes, '\0', value->length) != NULL) {
        error_set(error, ERROR_SECRET_UNUSABLE,
                  "the secret \"%s\" holds a NUL and cannot be an environment variable",
                  secret->name);
        return false;
    }
    if (environment_set(&call->description.environment, secret->variable, value->memory.bytes,
                        value->length))
        return true;
    error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the secrets");
    return false;
}

static bool deliver(struct call *call, const struct request_secret *secret,
                    struct secret_value *value, struct error *error)
{
    const struct policy *policy = call->configuration.policy;
    const struct secret_sources sources = {
        .host = &call->host,
        .providers = policy->secret_providers,
        .provider_count = policy->secret_provider_count,
        .cancel_fd = call->registration.cancel_fd,
    };
    if (!secret_value_read(&sources, secret->name, value, error) ||
        !redaction_add(call->redaction, secret->name, value->memory.bytes, value->length, error))
        return false;
    if (value->length < REDACTION_MINIMUM)
        call_note(call, "the secret %s is too short to be redacted from the output", secret->name);
    return put_in_environment(call, secret, value, error);
}

bool deliver_secrets(struct call *call, struct error *error)
{
    const struct request *request = &call->request;
    if (request->secret_count == 0)
        return true;
    call->redaction = redaction_new();
    if (call->redaction == NULL) {
        error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the secrets");
        return false;
    }
    for (size_t i = 0; i < request->secret_count; i++)
        if (!deliver(call, &request->secrets[i], &call->secrets[i], error))
            return false;
    return true;
}
