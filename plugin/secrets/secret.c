/* SPDX-License-Identifier: Apache-2.0 */
/* Reading secrets from the host and the policy's providers into locked memory. Runs in the gateway,
 * on the thread inside tool_invoke(). */
#include "secrets/secret.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "host/host.h"
#include "secrets/secret_provider.h"

#define FIRST_CAPACITY 4096

void secret_value_clear(struct secret_value *value)
{
    locked_memory_clear(&value->memory);
    value->length = 0;
}

enum secret_answer secret_too_large(const char *name, struct error *error)
{
    error_set(error, ERROR_SECRET_TOO_LARGE, "the secret \"%s\" is longer than %u bytes", name,
              SECRET_VALUE_LIMIT);
    return SECRET_FAILED;
}

bool secret_value_make(const char *name, size_t capacity, struct secret_value *ret,
                       struct error *error)
{
    if (locked_memory_get(capacity, &ret->memory) == 0)
        return true;
    error_set_errno(error, ERROR_OUT_OF_MEMORY, errno, "no memory for the secret \"%s\"", name);
    return false;
}

enum secret_answer secret_value_copy(const char *name, const void *bytes, size_t length,
                                     struct secret_value *ret, struct error *error)
{
    if (length > SECRET_VALUE_LIMIT)
        return secret_too_large(name, error);
    if (!secret_value_make(name, length + 1, ret, error))
        return SECRET_FAILED;
    memcpy(ret->memory.bytes, bytes, length);
    ret->length = length;
    return SECRET_FOUND;
}

enum secret_answer secret_value_take(const char *name, struct secret_value *value,
                                     struct secret_value *ret, struct error *error)
{
    if (value->length > 0 && value->memory.bytes[value->length - 1] == '\n')
        value->length--;
    if (value->length > SECRET_VALUE_LIMIT)
        return secret_too_large(name, error);
    *ret = *value;
    *value = (struct secret_value){0};
    return SECRET_FOUND;
}

static enum secret_answer unknown_secret(const char *name, struct error *error)
{
    error_set(error, ERROR_UNKNOWN_SECRET, "unknown secret: %s", name);
    return SECRET_FAILED;
}

/* *value is new; the length that the host returns may be more than it holds. */
static enum secret_answer ask_once(const struct tool_host *host, const char *name, size_t capacity,
                                   struct secret_value *value, struct error *error)
{
    secret_value_clear(value);
    if (!secret_value_make(name, capacity, value, error))
        return SECRET_FAILED;
    uint32_t verdict = host_read_secret(host, name, value->memory.bytes, capacity, &value->length);
    if (verdict == TOOL_VERDICT_ALLOW)
        return SECRET_FOUND;
    return verdict == TOOL_VERDICT_ABSENT ? SECRET_ABSENT : unknown_secret(name, error);
}

static enum secret_answer ask_host(const struct tool_host *host, const char *name,
                                   struct secret_value *ret, struct error *error)
{
    CLEANUP(secret_value_clear) struct secret_value value = {0};
    if (!host->read_secret)
        return SECRET_ABSENT;
    enum secret_answer answer = ask_once(host, name, FIRST_CAPACITY, &value, error);
    if (answer == SECRET_FOUND && value.length > FIRST_CAPACITY) {
        answer = ask_once(host, name, SECRET_VALUE_LIMIT, &value, error);
        /* The host has had the secret a moment ago: no provider is asked for another value. */
        if (answer == SECRET_ABSENT)
            return unknown_secret(name, error);
    }
    if (answer != SECRET_FOUND)
        return answer;
    if (value.length > value.memory.capacity)
        return secret_too_large(name, error);
    *ret = value;
    value = (struct secret_value){0};
    return SECRET_FOUND;
}

bool secret_value_read(const struct secret_sources *sources, const char *name,
                       struct secret_value *ret, struct error *error)
{
    enum secret_answer answer = ask_host(sources->host, name, ret, error);
    for (size_t i = 0; answer == SECRET_ABSENT && i < sources->provider_count; i++)
        answer = secret_provider_read(&sources->providers[i], name, sources->cancel_fd, ret, error);
    if (answer == SECRET_ABSENT && !sources->host->read_secret)
        host_log(sources->host, TOOL_LOG_WARNING,
                 "code-execute: a secret is asked for that no provider of the policy has, and the "
                 "gateway's struct tool_host has no read_secret");
    if (answer == SECRET_ABSENT)
        answer = unknown_secret(name, error);
    return answer == SECRET_FOUND;
}
