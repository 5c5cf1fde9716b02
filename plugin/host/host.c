/* SPDX-License-Identifier: Apache-2.0 */
/* The host's callbacks, called fail-closed. Runs in the gateway, on the thread inside
 * tool_invoke(). */
#include "host/host.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/utf8.h"

/* The sizes of the struct, of every minor version. */
static const size_t SIZES[] = {
    offsetof(struct tool_host, check_content), /* 1.0 */
    offsetof(struct tool_host, open_file),     /* 1.1 */
    offsetof(struct tool_host, call_tool),     /* 1.2 */
    sizeof(struct tool_host),
};

static bool size_is_of_a_version(uint32_t size)
{
    for (size_t i = 0; i < COUNT_OF(SIZES); i++)
        if (size == SIZES[i])
            return true;
    return false;
}

/* Forgotten is one of the two that say how the struct is laid out; the other one says it. */
static void copy_log(const struct tool_host *host, struct tool_host *ret)
{
    ret->user = host->user;
    ret->log = host->log;
}

static enum host_mistake refuse_layout(const struct tool_host *host, struct tool_host *ret)
{
    bool size_is_known = size_is_of_a_version(host->struct_size);
    bool version_is_known =
        host->abi_version >> 16 == TOOL_ABI_VERSION_MAJOR && host->abi_version <= TOOL_ABI_VERSION;
    if (host->abi_version >> 16 != TOOL_ABI_VERSION_MAJOR) {
        if (host->abi_version == 0 && size_is_known)
            copy_log(host, ret);
        return host->abi_version == 0 ? HOST_NO_VERSION : HOST_OTHER_VERSION;
    }
    if (host->struct_size == 0 && version_is_known)
        copy_log(host, ret);
    return host->struct_size == 0 ? HOST_NO_SIZE : HOST_SHORT;
}

enum host_mistake host_copy(const struct tool_host *host, struct tool_host *ret)
{
    memset(ret, 0, sizeof(*ret));
    if (!host)
        return HOST_MISSING;
    if (host->abi_version >> 16 != TOOL_ABI_VERSION_MAJOR ||
        host->struct_size < offsetof(struct tool_host, call_id))
        return refuse_layout(host, ret);
    size_t size = host->struct_size < sizeof(*ret) ? host->struct_size : sizeof(*ret);
    /* Half a pointer is no pointer: only whole members are taken. All members behind the first two
     * are 8 bytes. */
    size -= size % sizeof(uint64_t);
    memcpy(ret, host, size);
    if (!ret->check_capability)
        return HOST_NO_CHECK_CAPABILITY;
    return !ret->audit ? HOST_NO_AUDIT : HOST_SOUND;
}

bool host_is_sound(const struct tool_host *copy, enum host_mistake mistake, struct error *error)
{
    static const char *const words[] = {
        [HOST_MISSING] = "tool_invoke() was called without a struct tool_host",
        [HOST_NO_SIZE] = "struct_size is 0: set it to sizeof(struct tool_host)",
        [HOST_SHORT] = "struct_size is too small: set it to sizeof(struct tool_host)",
        [HOST_NO_VERSION] = "abi_version is 0: set it to TOOL_ABI_VERSION",
        [HOST_OTHER_VERSION] = "abi_version has another major version: set it to TOOL_ABI_VERSION",
        [HOST_NO_CHECK_CAPABILITY] = "check_capability is NULL: nothing can be granted",
        [HOST_NO_AUDIT] = "audit is NULL: no start can be recorded",
        [HOST_NO_CALL_TOOL] = "call_tool is NULL, and context_json lists tools",
    };
    if (mistake == HOST_SOUND)
        return true;
    error_set(error, ERROR_INVALID_HOST, "the gateway's struct tool_host: %s", words[mistake]);
    host_log(copy, TOOL_LOG_ERROR, "code-execute: %s", error->message);
    return false;
}

/* Anything but a verdict denies. A gateway's author would take it for the policy's denial. */
static void note_verdict(const struct tool_host *host, const char *callback, uint32_t verdict)
{
    static const uint32_t verdicts[] = {TOOL_VERDICT_DENY, TOOL_VERDICT_ALLOW, TOOL_VERDICT_LATER,
                                        TOOL_VERDICT_PENDING, TOOL_VERDICT_ABSENT};
    for (size_t i = 0; i < COUNT_OF(verdicts); i++)
        if (verdict == verdicts[i])
            return;
    host_log(host, TOOL_LOG_WARNING,
             "code-execute: %s wrote 0x%x, which is not a TOOL_VERDICT: treated as a denial",
             callback, (unsigned)verdict);
}

bool host_grants_capability(const struct tool_host *host, const char *capability)
{
    uint32_t verdict = TOOL_VERDICT_DENY;
    if (host->check_capability)
        host->check_capability(host->user, capability, &verdict);
    note_verdict(host, "check_capability", verdict);
    return verdict == TOOL_VERDICT_ALLOW;
}

uint32_t host_request_approval(const struct tool_host *host, uint64_t token,
                               const char *request_json)
{
    uint32_t verdict = TOOL_VERDICT_DENY;
    if (host->request_approval)
        host->request_approval(host->user, token, request_json, &verdict);
    note_verdict(host, "request_approval", verdict);
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
    if (host->read_secret)
        host->read_secret(host->user, name, buffer, capacity, &length, &verdict);
    note_verdict(host, "read_secret", verdict);
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
    if (host->check_content)
        host->check_content(host->user, request_json, answer, capacity, &length, &verdict);
    note_verdict(host, "check_content", verdict);
    if (verdict != TOOL_VERDICT_ALLOW || length > capacity)
        return false;
    *ret_length = length;
    return true;
}

/* What is wrong with a descriptor that a host has given for a file of that size; NULL: nothing. */
static const char *find_fault(int fd, uint64_t size)
{
    struct stat status;
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fstat(fd, &status) < 0)
        return "is not open";
    if ((flags & O_PATH) || (flags & O_ACCMODE) == O_WRONLY)
        return "cannot be read";
    if (!S_ISREG(status.st_mode))
        return "is of no regular file";
    if ((uint64_t)status.st_size != size)
        return "is of a file of another size than *size";
    return fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ? "is not open" : NULL;
}

static bool refuse_descriptor(const struct tool_host *host, const char *ref, int32_t fd,
                              const char *fault, struct error *error)
{
    error_set(error, ERROR_FILE_NOT_FOUND, "the gateway's open_file: descriptor %d for %.128s %s",
              (int)fd, ref, fault);
    error_set_hint(error, "%s", error_code_hint(ERROR_INVALID_HOST));
    host_log(host, TOOL_LOG_ERROR, "code-execute: %s", error->message);
    return false;
}

bool host_open_file(const struct tool_host *host, const char *ref, int *ret, uint64_t *ret_size,
                    struct error *error)
{
    uint32_t verdict = TOOL_VERDICT_DENY;
    int32_t descriptor = -1;
    uint64_t size = 0;
    if (host->open_file)
        host->open_file(host->user, ref, &descriptor, &size, &verdict);
    note_verdict(host, "open_file", verdict);
    if (verdict != TOOL_VERDICT_ALLOW) {
        error_set(error, ERROR_FILE_NOT_FOUND, "the gateway did not open the file %.128s", ref);
        return false;
    }
    /* The gateway's own standard streams are not ours to close. */
    if (descriptor <= STDERR_FILENO)
        return refuse_descriptor(host, ref, descriptor, "is none of a file", error);
    CLEANUP_CLOSE int fd = descriptor;
    const char *fault = find_fault(fd, size);
    if (fault)
        return refuse_descriptor(host, ref, descriptor, fault, error);
    *ret = TAKE_FD(fd);
    *ret_size = size;
    return true;
}

bool host_stores_files(const struct tool_host *host)
{
    return host->store_file != NULL;
}

bool host_store_file(const struct tool_host *host, const char *file_json, int descriptor, char *uri,
                     size_t capacity, size_t *ret_length)
{
    uint32_t verdict = TOOL_VERDICT_DENY;
    size_t length = 0;
    size_t taken = 0;
    if (host->store_file)
        host->store_file(host->user, file_json, descriptor, uri, capacity, &length, &verdict);
    note_verdict(host, "store_file", verdict);
    if (verdict != TOOL_VERDICT_ALLOW || length == 0 || length > capacity)
        return false;
    while (taken < length && uri[taken] != '\0') {
        size_t sequence = utf8_sequence((const unsigned char *)&uri[taken], length - taken);
        if (sequence == 0)
            return false;
        taken += sequence;
    }
    if (taken == length)
        *ret_length = length;
    return taken == length;
}

uint32_t host_call_tool(const struct tool_host *host, uint64_t token, const char *call_json)
{
    uint32_t verdict = TOOL_VERDICT_DENY;
    if (host->call_tool)
        host->call_tool(host->user, token, call_json, &verdict);
    note_verdict(host, "call_tool", verdict);
    return verdict == TOOL_VERDICT_LATER ? verdict : TOOL_VERDICT_DENY;
}

void host_cancel_tool_call(const struct tool_host *host, uint64_t token)
{
    if (host->cancel_tool_call)
        host->cancel_tool_call(host->user, token);
}

bool host_calls_tools(const struct tool_host *host)
{
    return host->call_tool != NULL;
}

bool host_audit(const struct tool_host *host, const char *record_json)
{
    uint32_t verdict = TOOL_VERDICT_DENY;
    if (host->audit)
        host->audit(host->user, record_json, &verdict);
    note_verdict(host, "audit", verdict);
    return verdict == TOOL_VERDICT_ALLOW;
}

void host_output(const struct tool_host *host, uint32_t stream, const void *bytes, size_t length)
{
    if (host->on_output && length > 0)
        host->on_output(host->user, stream, bytes, length);
}

void host_log(const struct tool_host *host, uint32_t level, const char *format, ...)
{
    if (!host->log)
        return;
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    host->log(host->user, level, message);
}
