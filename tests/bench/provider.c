/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A gateway's side of the ABI, with as little of its own around a call as there can be. Runs in the
 * bench's gateway, calls on a caller's thread, the rest on the main thread.
 */
#include "provider.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tool_provider.h"

static struct {
    void *library;
    tool_invoke_fn invoke;
    tool_free_fn free_text;
    tool_prepare_fn prepare;
    tool_shutdown_fn shutdown;
    tool_reply_call_fn reply_call; /* NULL: a version before 1.3 */
} provider;

/* NULL: nothing is. */
static struct {
    char *path;
    char *context;
    uint64_t size;
    bool tool;
} lent;

/* What the callbacks of one call see. */
struct caller {
    unsigned int records; /* audit records that were stored */
    unsigned int questions;
    unsigned int calls; /* of the tool */
    uint64_t output_bytes;
};

static void grant_capability(void *user, const char *capability, uint32_t *verdict)
{
    (void)user;
    (void)capability;
    *verdict = TOOL_VERDICT_ALLOW;
}

static void approve(void *user, uint64_t token, const char *request_json, uint32_t *verdict)
{
    struct caller *caller = user;
    (void)token;
    (void)request_json;
    caller->questions++;
    *verdict = TOOL_VERDICT_ALLOW;
}

static void store_record(void *user, const char *record_json, uint32_t *verdict)
{
    struct caller *caller = user;
    (void)record_json;
    caller->records++;
    *verdict = TOOL_VERDICT_ALLOW;
}

static void count_output(void *user, uint32_t stream, const void *bytes, size_t length)
{
    struct caller *caller = user;
    (void)bytes;
    if (stream == TOOL_STREAM_STDOUT)
        caller->output_bytes += length;
}

static void take_file(void *user, const char *file_json, int32_t descriptor, char *uri,
                      size_t capacity, size_t *length, uint32_t *verdict)
{
    static const char name[] = "taken";
    (void)user;
    (void)file_json;
    (void)descriptor;
    if (capacity < sizeof(name))
        return;
    memcpy(uri, name, sizeof(name) - 1);
    *length = sizeof(name) - 1;
    *verdict = TOOL_VERDICT_ALLOW;
}

static void open_lent(void *user, const char *ref, int32_t *descriptor, uint64_t *size,
                      uint32_t *verdict)
{
    (void)user;
    (void)ref;
    int fd = open(lent.path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    *descriptor = fd;
    *size = lent.size;
    *verdict = TOOL_VERDICT_ALLOW;
}

bool provider_lend(const char *path)
{
    struct stat status;
    if (path == NULL || stat(path, &status) < 0)
        return false;
    free(lent.path);
    free(lent.context);
    lent.size = (uint64_t)status.st_size;
    lent.path = strdup(path);
    json_t *context = json_pack("{s:[{s:s, s:s, s:I}]}", "files", "ref", "lent", "name", "lent",
                                "size", (json_int_t)status.st_size);
    lent.context = context != NULL ? json_dumps(context, 0) : NULL;
    json_decref(context);
    return lent.path != NULL && lent.context != NULL;
}

static void answer_call(void *user, uint64_t token, const char *call_json, uint32_t *verdict)
{
    static const char reply[] =
        "{\"content\":[{\"type\":\"text\",\"text\":\"answer\"}],\"is_error\":false}";
    struct caller *caller = user;
    (void)call_json;
    caller->calls++;
    if (provider.reply_call(token, reply, sizeof(reply) - 1) == TOOL_ACCEPTED)
        *verdict = TOOL_VERDICT_LATER;
}

bool provider_offer_tool(void)
{
    static const char context[] =
        "{\"tools\":[{\"name\":\"echo\",\"description\":\"Answers at once.\","
        "\"input_schema\":{\"type\":\"object\"},\"approval\":\"never\"}]}";
    free(lent.context);
    lent.context = strdup(context);
    lent.tool = provider.reply_call != NULL && lent.context != NULL;
    return lent.tool;
}

static void *symbol(const char *name)
{
    void *found = dlsym(provider.library, name);
    if (found != NULL)
        return found;
    (void)fprintf(stderr, "bench: %s\n", dlerror());
    exit(1);
}

void provider_load(const char *path)
{
    provider.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (provider.library == NULL) {
        (void)fprintf(stderr, "bench: %s\n", dlerror());
        exit(1);
    }
    provider.invoke = (tool_invoke_fn)symbol("tool_invoke");
    provider.free_text = (tool_free_fn)symbol("tool_free");
    provider.prepare = (tool_prepare_fn)symbol("tool_prepare");
    provider.shutdown = (tool_shutdown_fn)symbol("tool_shutdown");
    provider.reply_call = (tool_reply_call_fn)dlsym(provider.library, "tool_reply_call");
}

json_t *provider_prepare(const json_t *configuration)
{
    char *text = json_dumps(configuration, 0);
    char *status = NULL;
    /* The status costs a probe of every layer, so it is asked for only where there is an error. */
    bool taken = text != NULL && provider.prepare(text, NULL) == TOOL_OK;
    if (!taken && text != NULL)
        (void)provider.prepare(text, &status);
    free(text);
    if (taken)
        return NULL;
    json_t *json = status != NULL ? json_loads(status, 0, NULL) : NULL;
    provider.free_text(status);
    json_t *error = json_incref(json_object_get(json, "error"));
    json_decref(json);
    return error != NULL ? error : json_pack("{s:s}", "message", "refused without a reason");
}

/* A run counts only when it was isolated, approved and audited. */
static bool is_whole(const json_t *result, const struct caller *caller)
{
    const json_t *isolation = json_object_get(result, "isolation");
    return json_integer_value(json_object_get(result, "exit_code")) == 0 &&
           json_is_integer(json_object_get(result, "exit_code")) &&
           json_array_size(json_object_get(isolation, "applied")) > 0 &&
           caller->records == 2 + 2 * caller->calls && caller->questions == 1;
}

static void read_result(const char *text, const struct caller *caller, struct attempt *ret)
{
    json_t *result = text != NULL ? json_loads(text, JSON_ALLOW_NUL, NULL) : NULL;
    const char *output = json_string_value(json_object_get(result, "stdout"));
    ret->good = output != NULL && is_whole(result, caller);
    if (ret->good) {
        size_t length = json_string_length(json_object_get(result, "stdout"));
        ret->kept = length < sizeof(ret->output) ? length : sizeof(ret->output);
        memcpy(ret->output, output, ret->kept);
        ret->total = caller->output_bytes;
    } else {
        char *error = json_dumps(json_object_get(result, "error"), JSON_ENCODE_ANY);
        (void)snprintf(ret->reason, sizeof(ret->reason), "%s: %s",
                       error != NULL ? error : "no result", text != NULL ? text : "");
        free(error);
    }
    json_decref(result);
}

static struct tool_host host_of(struct caller *caller)
{
    return (struct tool_host){
        .struct_size = sizeof(struct tool_host),
        .abi_version = TOOL_ABI_VERSION,
        .user = caller,
        .context_json = lent.context,
        .check_capability = grant_capability,
        .request_approval = approve,
        .audit = store_record,
        .on_output = count_output,
        .open_file = lent.path != NULL ? open_lent : NULL,
        .store_file = take_file,
        .call_tool = lent.tool ? answer_call : NULL,
    };
}

void provider_call(const char *input_json, struct attempt *ret)
{
    struct caller caller = {0};
    const struct tool_host host = host_of(&caller);
    char *text = NULL;
    ret->kept = 0;
    ret->total = 0;
    double begin = clock_ms();
    (void)provider.invoke("code_execute", input_json, &host, &text);
    ret->ms = clock_ms() - begin;
    read_result(text, &caller, ret);
    provider.free_text(text);
}

json_t *provider_result(const char *input_json)
{
    struct caller caller = {0};
    const struct tool_host host = host_of(&caller);
    char *text = NULL;
    (void)provider.invoke("code_execute", input_json, &host, &text);
    json_t *result = text != NULL ? json_loads(text, JSON_ALLOW_NUL, NULL) : NULL;
    provider.free_text(text);
    return result;
}

void provider_shutdown(void)
{
    provider.shutdown();
    free(lent.path);
    free(lent.context);
    lent.path = lent.context = NULL;
}
