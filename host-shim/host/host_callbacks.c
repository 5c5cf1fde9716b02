/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The callbacks of struct tool_host. A verdict is a denial until the callback allows. On the thread
 * inside tool_invoke().
 */
#include "host/host_callbacks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/descriptor_io.h"
#include "base/json.h"
#include "host/capability.h"

#define SECRET_FILE_LIMIT 65536u

__attribute__((format(printf, 2, 3))) static void notice(const struct grants *grants,
                                                         const char *format, ...)
{
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    grants->take_notice(grants->user, text);
}

static void notice_failure(const struct grants *grants, const struct failure *failure)
{
    notice(grants, "%s: %s", failure->code, failure->message);
    if (failure->hint[0])
        notice(grants, "hint: %s", failure->hint);
}

static void check_capability(void *user, const char *capability, uint32_t *verdict)
{
    struct grants *grants = user;
    if (!capability)
        return;
    enum capability_verdict judged =
        capability_judge(grants->capabilities, grants->capability_count, capability);
    if (judged == CAPABILITY_GRANTED) {
        *verdict = TOOL_VERDICT_ALLOW;
    } else if (judged != CAPABILITY_PROBE) {
        (void)snprintf(grants->denied, sizeof(grants->denied), "%s", capability);
        grants->denied_by_option = judged == CAPABILITY_DENIED;
    }
}

static char *decision_text(const char *request_json, const struct approval_decision *decision)
{
    json_auto_t *request = json_loads(request_json, JSON_REJECT_DUPLICATES, NULL);
    return decision->word == APPROVAL_WORD_PENDING ? approval_pending_text(decision, request)
                                                   : approval_decision_text(decision, request);
}

static void notify_decision(const struct grants *grants, const struct approval_decision *decision)
{
    if (decision->notice[0])
        notice(grants, "%s", decision->notice);
    if (decision->word == APPROVAL_WORD_DENY || decision->word == APPROVAL_WORD_CANCEL)
        notice(grants, "denied by %s: %s", decision->approver, decision->reason);
    if (decision->word == APPROVAL_WORD_UNAVAILABLE)
        notice(grants, "no approver could be asked: %s", decision->reason);
    if (decision->no_approver)
        notice(grants, "hint: decide in advance with --approve always or never, or let a program "
                       "decide with --approve cmd:PROG");
}

void grants_decide_call(void *user, const struct approval_question *question,
                        struct approval_decision *ret)
{
    const struct grants *grants = user;
    approval_decide(&grants->approver, question->request_json, question->cancelled_fd, ret);
    notify_decision(grants, ret);
}

/* Of a program that runs. What is decided beforehand needs no thread. */
static bool ask_by_thread(const struct grants *grants, uint64_t token, const char *request_json)
{
    if (grants->approver.mode == APPROVAL_ALWAYS || grants->approver.mode == APPROVAL_NEVER)
        return false;
    json_auto_t *request = json_loads(request_json, JSON_REJECT_DUPLICATES, NULL);
    return approval_is_of_call(request) &&
           call_questions_add(grants->questions, token, request_json);
}

/* The answer always goes through tool_reply_approval(), which carries who decided and why. "Later"
 * says that it was not given through the verdict; without an accepted answer the denial stands. */
static void request_approval(void *user, uint64_t token, const char *request_json,
                             uint32_t *verdict)
{
    const struct grants *grants = user;
    if (ask_by_thread(grants, token, request_json)) {
        *verdict = TOOL_VERDICT_LATER;
        return;
    }
    CLEANUP(approval_clear) struct approval_decision decision;
    approval_decide(&grants->approver, request_json, grants->cancelled_fd, &decision);
    notify_decision(grants, &decision);
    CLEANUP_FREE char *answer = decision_text(request_json, &decision);
    if (decision.word == APPROVAL_WORD_PENDING) {
        if (answer)
            (void)grants->provider->reply_approval(token, answer);
        *verdict = TOOL_VERDICT_PENDING;
        return;
    }
    /* An unanswered request may come back after the provider's own deadline; the provider checks.
     */
    if (answer && (grants->provider->reply_approval(token, answer) == TOOL_ACCEPTED ||
                   decision.word == APPROVAL_WORD_UNAVAILABLE))
        *verdict = TOOL_VERDICT_LATER;
}

/* A page of its own kind: kept out of swap where the limits allow it, and of core dumps. */
struct secret_memory {
    char *bytes;
    size_t size;
};

static void secret_memory_wipe(struct secret_memory *memory)
{
    if (!memory->bytes)
        return;
    explicit_bzero(memory->bytes, memory->size);
    (void)munmap(memory->bytes, memory->size);
}

static bool secret_memory_make(struct secret_memory *ret, struct failure *failure)
{
    void *bytes = mmap(NULL, SECRET_FILE_LIMIT + 4096, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED)
        return failure_out_of_memory(failure);
    ret->bytes = bytes;
    ret->size = SECRET_FILE_LIMIT + 4096;
    (void)mlock(bytes, ret->size);
    (void)madvise(bytes, ret->size, MADV_DONTDUMP);
    return true;
}

static int open_regular(const char *path, struct failure *failure)
{
    /* Non-blocking, so that a FIFO in the file's place cannot hang the call. */
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) < 0) {
        (void)failure_set_errno(failure, "secret_unavailable", errno, "secret file %s", path);
        return -1;
    }
    if (!S_ISREG(status.st_mode)) {
        (void)failure_set(failure, "secret_unavailable", "secret file %s: not a regular file",
                          path);
        return -1;
    }
    return TAKE_FD(fd);
}

/* Reads the bytes of a file of --secret NAME=FILE without one trailing line break, anew at each
 * call. *ret_length is their number; they are copied to buffer only where capacity suffices. */
static bool read_secret_file(const char *path, void *buffer, size_t capacity, size_t *ret_length,
                             struct failure *failure)
{
    CLEANUP_CLOSE int fd = open_regular(path, failure);
    if (fd < 0)
        return false;
    CLEANUP(secret_memory_wipe) struct secret_memory memory = {0};
    if (!secret_memory_make(&memory, failure))
        return false;
    ssize_t got = read_up_to(fd, memory.bytes, memory.size);
    if (got < 0)
        return failure_set_errno(failure, "secret_unavailable", errno, "secret file %s", path);
    size_t length = (size_t)got;
    if (length > 0 && memory.bytes[length - 1] == '\n')
        length--;
    if (length > SECRET_FILE_LIMIT)
        return failure_set(failure, "secret_unavailable", "secret file %s: more than %u bytes",
                           path, SECRET_FILE_LIMIT);
    if (length <= capacity && length > 0)
        memcpy(buffer, memory.bytes, length);
    *ret_length = length;
    return true;
}

static void read_secret(void *user, const char *name, void *buffer, size_t capacity, size_t *length,
                        uint32_t *verdict)
{
    const struct grants *grants = user;
    for (size_t i = 0; name && i < grants->secret_count; i++) {
        if (strcmp(grants->secrets[i].name, name) != 0)
            continue;
        struct failure failure;
        if (read_secret_file(grants->secrets[i].path, buffer, capacity, length, &failure))
            *verdict = TOOL_VERDICT_ALLOW;
        else
            notice_failure(grants, &failure);
        return;
    }
    *verdict = TOOL_VERDICT_ABSENT; /* the policy's providers may have it */
}

static void open_file(void *user, const char *ref, int32_t *descriptor, uint64_t *size,
                      uint32_t *verdict)
{
    const struct grants *grants = user;
    int fd = grants->files ? lent_files_open(grants->files, ref, size) : -1;
    if (fd < 0)
        return;
    *descriptor = fd;
    *verdict = TOOL_VERDICT_ALLOW;
}

/* Its URI, new; NULL: it is not kept, and why has been said. */
static json_t *keep_file(const struct grants *grants, const json_t *file, int descriptor)
{
    struct failure failure;
    json_auto_t *entry = artifact_store_keep(grants->artifacts, file, descriptor, &failure);
    if (!entry)
        notice_failure(grants, &failure);
    return json_incref(json_object_get(entry, "uri"));
}

static void store_file(void *user, const char *file_json, int32_t descriptor, char *uri,
                       size_t capacity, size_t *length, uint32_t *verdict)
{
    const struct grants *grants = user;
    json_auto_t *file = json_loads(file_json, JSON_REJECT_DUPLICATES, NULL);
    json_auto_t *kept = json_is_object(file) ? keep_file(grants, file, descriptor) : NULL;
    size_t needed = json_string_length(kept);
    if (!kept || needed > capacity)
        return;
    memcpy(uri, json_string_value(kept), needed);
    *length = needed;
    *verdict = TOOL_VERDICT_ALLOW;
}

static void call_tool(void *user, uint64_t token, const char *call_json, uint32_t *verdict)
{
    const struct grants *grants = user;
    if (grants->tool_servers)
        tool_servers_call(grants->tool_servers, token, call_json, verdict);
}

static void cancel_tool_call(void *user, uint64_t token)
{
    const struct grants *grants = user;
    if (grants->tool_servers)
        tool_servers_cancel(grants->tool_servers, token);
}

static void audit(void *user, const char *record_json, uint32_t *verdict)
{
    struct grants *grants = user;
    struct failure failure;
    if (audit_log_append(&grants->audit_log, record_json, &failure)) {
        *verdict = TOOL_VERDICT_ALLOW;
        return;
    }
    /* The provider records the start that this failure refuses, which fails again. */
    if (!grants->audit_failure_reported)
        notice_failure(grants, &failure);
    grants->audit_failure_reported = true;
}

static void on_output(void *user, uint32_t stream, const void *bytes, size_t length)
{
    const struct grants *grants = user;
    if (grants->take_output)
        grants->take_output(grants->user, stream, bytes, length);
}

static void log_line(void *user, uint32_t level, const char *message)
{
    const struct grants *grants = user;
    if (level == TOOL_LOG_ERROR || level == TOOL_LOG_WARNING)
        notice(grants, "%s", message);
}

void host_callbacks_fill(struct tool_host *ret, struct grants *grants, uint64_t call_id,
                         const char *context_json)
{
    *ret = (struct tool_host){
        .struct_size = sizeof(*ret),
        .abi_version = TOOL_ABI_VERSION,
        .user = grants,
        .call_id = call_id,
        .context_json = context_json,
        .check_capability = check_capability,
        .request_approval = request_approval,
        .read_secret = read_secret,
        .audit = audit,
        .on_output = on_output,
        .log = log_line,
        .open_file = open_file,
        .store_file = store_file,
        .call_tool = call_tool,
        .cancel_tool_call = cancel_tool_call,
    };
}

bool grants_add_tools(const struct grants *grants, json_t *context)
{
    if (!grants->tool_servers)
        return true;
    json_t *tools = tool_servers_list(grants->tool_servers);
    return json_object_set_new(context, "tools", tools) == 0;
}

void grants_add_denial_hint(const struct grants *grants, json_t *result)
{
    json_t *error = json_object_get(result, "error");
    const char *denied = grants->denied;
    if (!denied[0] || strcmp(json_member_string(error, "code", ""), "access_denied") != 0 ||
        !strstr(json_member_string(error, "message", ""), denied))
        return; /* refused for something else, as by the provider's policy */
    const char *hint = json_member_string(error, "hint", "");
    json_t *more =
        grants->denied_by_option
            ? json_sprintf("%s%swith toolhost: a --cap '!...' denies it", hint, *hint ? "; " : "")
            : json_sprintf("%s%swith toolhost: --cap %s", hint, *hint ? "; " : "", denied);
    if (more)
        (void)json_object_set_new(error, "hint", more);
}
