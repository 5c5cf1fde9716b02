/* SPDX-License-Identifier: Apache-2.0 */
/* Reading secrets from the host into locked memory. Runs in the gateway, on the thread inside
 * tool_invoke(). */
#include "secret.h"

#include <errno.h>
#include <string.h>

#include "cleanup.h"
#include "host.h"

#define FIRST_CAPACITY 4096

void secret_value_clear(struct secret_value *value)
{
    locked_memory_clear(&value->memory);
    value->length = 0;
}

/* *value is new, and what the host says its length is may be more than it holds. */
static bool ask_host(const struct tool_host *host, const char *name, size_t capacity,
                     struct secret_value *value, struct error *error)
{
    secret_value_clear(value);
    if (locked_memory_get(capacity, &value->memory) != 0) {
        error_set_errno(error, ERROR_OUT_OF_MEMORY, errno, "no memory for the secret \"%s\"", name);
        return false;
    }
    if (host_read_secret(host, name, value->memory.bytes, capacity, &value->length))
        return true;
    error_set(error, ERROR_UNKNOWN_SECRET, "unknown secret: %s", name);
    return false;
}

bool secret_value_read(const struct tool_host *host, const char *name, struct secret_value *ret,
                       struct error *error)
{
    CLEANUP(secret_value_clear) struct secret_value value = {0};
    if (!ask_host(host, name, FIRST_CAPACITY, &value, error) ||
        (value.length > FIRST_CAPACITY && !ask_host(host, name, SECRET_VALUE_LIMIT, &value, error)))
        return false;
    if (value.length > value.memory.capacity) {
        error_set(error, ERROR_INVALID_INPUT, "the secret \"%s\" is longer than %u bytes", name,
                  SECRET_VALUE_LIMIT);
        return false;
    }
    if (memchr(value.memory.bytes, '\0', value.length) != NULL) {
        error_set(error, ERROR_INVALID_INPUT,
                  "the secret \"%s\" holds a NUL and cannot be an environment variable", name);
        return false;
    }
    *ret = value;
    value = (struct secret_value){0};
    return true;
}
