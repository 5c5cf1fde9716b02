/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A gateway as one was built before this version: with the header of that time, of which copies are
 * kept in header-1.0/, header-1.1/ and header-1.2/. Nothing behind its struct can be read. It
 * prints the size of its struct, the return code and the result.
 *
 * Called as: old_host PROVIDER.so INPUT
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tool_provider.h"

static void check_capability(void *user, const char *capability, uint32_t *verdict)
{
    (void)user;
    if (strcmp(capability, "sandbox.exec") == 0)
        *verdict = TOOL_VERDICT_ALLOW;
}

static void request_approval(void *user, uint64_t token, const char *request_json,
                             uint32_t *verdict)
{
    (void)user;
    (void)token;
    (void)request_json;
    *verdict = TOOL_VERDICT_ALLOW;
}

static void audit(void *user, const char *record_json, uint32_t *verdict)
{
    (void)user;
    (void)record_json;
    *verdict = TOOL_VERDICT_ALLOW;
}

/* Memory for the struct that ends where a page without any access begins; NULL without memory. */
static struct tool_host *make_host(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages + page, page, PROT_NONE) < 0)
        return NULL;
    return (struct tool_host *)(void *)(pages + page - sizeof(struct tool_host));
}

int main(int argc, char **argv)
{
    void *library = argc == 3 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    struct tool_host *host = make_host();
    if (!library || !host)
        return 2;
    tool_invoke_fn invoke = (tool_invoke_fn)dlsym(library, "tool_invoke");
    tool_free_fn free_text = (tool_free_fn)dlsym(library, "tool_free");
    *host = (struct tool_host){.struct_size = sizeof(*host),
                               .abi_version = TOOL_ABI_VERSION,
                               .check_capability = check_capability,
                               .request_approval = request_approval,
                               .audit = audit};
    char *output = NULL;
    int32_t code = invoke("code_execute", argv[2], host, &output);
    printf("%zu %d %s\n", sizeof(*host), (int)code, output ? output : "null");
    free_text(output);
    dlclose(library);
    return 0;
}
