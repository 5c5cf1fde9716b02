/* SPDX-License-Identifier: Apache-2.0 */
/* The host's callbacks, called fail-closed. Runs in the gateway, on the thread inside
 * tool_invoke(). */
#include "host.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void host_copy(const struct tool_host *host, struct tool_host *ret)
{
    memset(ret, 0, sizeof(*ret));
    if (host == NULL || host->struct_size < offsetof(struct tool_host, call_id))
        return;
    if (host->abi_version >> 16 != TOOL_ABI_VERSION_MAJOR)
        return;
    size_t size = host->struct_size < sizeof(*ret) ? host->struct_size : sizeof(*ret);
    /* Half a pointer is no pointer: only whole members are taken. All members behind the first two
     * are 8 bytes. */
    size -= size % sizeof(uint64_t);
    memcpy(ret, host, size);
}

bool host_grants_capability(const struct tool_host *host, const char *capability)
{
    uint32_t verdict = TOOL_VERDICT_DENY;
    if (host->check_capability != NULL)
        host->check_capability(host->user, capability, &verdict);
    return verdict == TOOL_VERDICT_ALLOW;
}

uint32_t host_request_approval(const struct tool_host *host, uint64_t token,
                               const char *request_json)
{
    uint32_t verdict = TOOL_VERDICT_DENY;
    if (host->request_approval != NULL)
        host->request_approval(host->user, token, request_json, &verdict);
    if (verdict == TOOL_VERDICT_ALLOW || verdict == TOOL_VERDICT_LATER ||
        verdict == TOOL_VERDICT_PENDING)
        return verdict;
    return TOOL_VERDICT_DENY;
}

uint32_t host_read_secret(const struct tool_host *host, const char *name, void *buffer,
                          size_t capacity, size_t *ret_length)
{
    uint32_t verdict = TOOL_VERDICT_DENY;
    size_t length = 0;
    if (host->read_secret != NULL)
        host->read_secret(host->user, name, buffer, capacity, &length, &verdict);
    if (verdict == TOOL_VERDICT_ALLOW)
        *ret_length = length;
    return verdict == TOOL_VERDICT_ALLOW || verdict == TOOL_VERDICT_ABSENT ? verdict
                                                                           : TOOL_VERDICT_DENY;
}

bool host_checks_content(const struct tool_host *host)
{
    return host->check_content != NULL;
}

bool host_check_content(const struct tool_host *host, const char *request_json, char *answer,
                        size_t capacity, size_t *ret_length)
{
    uint32_t verdict = TOOL_VERDICT_DENY;
    size_t length = 0;
    if (host->check_content != NULL)
        host->check_content(host->user, request_json, answer, capacity, &length, &verdict);
    if (verdict != TOOL_VERDICT_ALLOW || length > capacity)
        return false;
    *ret_length = length;
    return true;
}

bool host_audit(const struct tool_host *host, const char *record_json)
{
    uint32_t verdict = TOOL_VERDICT_DENY;
    if (host->audit != NULL)
        host->audit(host->user, record_json, &verdict);
    return verdict == TOOL_VERDICT_ALLOW;
}

void host_output(const struct tool_host *host, uint32_t stream, const void *bytes, size_t length)
{
    if (host->on_output != NULL && length > 0)
        host->on_output(host->user, stream, bytes, length);
}

void host_log(const struct tool_host *host, uint32_t level, const char *format, ...)
{
    if (host->log == NULL)
        return;
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    host->log(host->user, level, message);
}
