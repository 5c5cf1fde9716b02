/* SPDX-License-Identifier: Apache-2.0
 * A gateway in C: cc gateway.c $(pkg-config --cflags tool-provider) -ldl
 * API_KEY=... CODE_EXEC_POLICY=policy.json ./a.out code_execute.so */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool_provider.h"
#pragma GCC diagnostic ignored "-Wunused-parameter" /* a callback does not need all it is given */

static const char call[] = "{\"language\": \"sh\", \"code\": \"echo length ${#KEY}; echo $KEY\","
                           " \"secrets\": {\"KEY\": \"{{secret:api-key}}\"}}";

static void check_capability(void *user, const char *name, uint32_t *verdict)
{
    if (strcmp(name, "sandbox.exec") == 0 || strcmp(name, "sandbox.exec.secrets") == 0)
        *verdict = TOOL_VERDICT_ALLOW;
}

static void request_approval(void *user, uint64_t token, const char *request, uint32_t *verdict)
{
    fprintf(stderr, "%s\nRun this? [y/N] ", request);
    *verdict = getchar() == 'y' ? TOOL_VERDICT_ALLOW : TOOL_VERDICT_DENY;
}

static void read_secret(void *user, const char *name, void *buffer, size_t capacity, size_t *length,
                        uint32_t *verdict)
{
    const char *value = strcmp(name, "api-key") == 0 ? getenv("API_KEY") : NULL;
    *length = value ? strlen(value) : 0;
    if (value && *length <= capacity) /* else it asks again with a larger buffer */
        memcpy(buffer, value, *length);
    *verdict = value ? TOOL_VERDICT_ALLOW : TOOL_VERDICT_DENY;
}

static void audit(void *user, const char *record, uint32_t *verdict)
{
    *verdict = fprintf(stderr, "audit: %s\n", record) > 0 ? TOOL_VERDICT_ALLOW : TOOL_VERDICT_DENY;
}

static void on_output(void *user, uint32_t stream, const void *bytes, size_t length)
{
    fwrite(bytes, 1, length, stream == TOOL_STREAM_STDOUT ? stdout : stderr);
}

int main(int argc, char **argv)
{
    void *library = dlopen(argv[argc - 1], RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return fprintf(stderr, "%s\n", dlerror()), 2;
    tool_invoke_fn invoke = (tool_invoke_fn)dlsym(library, "tool_invoke");
    struct tool_host host = {.struct_size = sizeof(host),
                             .abi_version = TOOL_ABI_VERSION,
                             .call_id = 1,
                             .check_capability = check_capability,
                             .request_approval = request_approval,
                             .read_secret = read_secret,
                             .audit = audit,
                             .on_output = on_output};
    char *result = NULL;
    int32_t ran = invoke("code_execute", call, &host, &result);
    printf("result: %s\n", result ? result : "out of memory");
    ((tool_free_fn)dlsym(library, "tool_free"))(result);
    return ran;
}
