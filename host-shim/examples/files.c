/* SPDX-License-Identifier: Apache-2.0
 * A file in by reference, a chart and a table out: cc files.c $(pkg-config --cflags tool-provider)
 * -ldl CODE_EXEC_POLICY=files.json ./a.out code_execute.so data.csv   (approval and secrets:
 * gateway.c) */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool_provider.h"
#pragma GCC diagnostic ignored "-Wunused-parameter" /* a callback does not need all it is given */

static const char call[] =
    "{\"language\": \"python\", \"files\": [{\"path\": \"data.csv\", \"ref\": \"data\"}],"
    " \"code\": \"import pandas\\nframe = pandas.read_csv('data.csv')\\n"
    "frame.plot().figure.savefig('chart.png')\\nframe.describe()\"}";

static void check_capability(void *user, const char *name, uint32_t *verdict)
{
    if (strcmp(name, "sandbox.exec") == 0 || strcmp(name, "sandbox.exec.files") == 0)
        *verdict = TOOL_VERDICT_ALLOW;
}

static void audit(void *user, const char *record, uint32_t *verdict)
{
    *verdict = fprintf(stderr, "audit: %s\n", record) > 0 ? TOOL_VERDICT_ALLOW : TOOL_VERDICT_DENY;
}

/* Only for a ref of context_json; asked more than once, so each answer is a descriptor of its own.
 */
static void open_file(void *user, const char *ref, int32_t *descriptor, uint64_t *size,
                      uint32_t *verdict)
{
    struct stat status;
    *descriptor = open(user, O_RDONLY | O_CLOEXEC); /* the provider closes it, if this allows */
    if (*descriptor >= 0 && fstat(*descriptor, &status) == 0) {
        *size = (uint64_t)status.st_size;
        *verdict = TOOL_VERDICT_ALLOW;
    }
}

/* file's "path" is the program's word: the name is this host's own. descriptor is lent. */
static void store_file(void *user, const char *file, int32_t descriptor, char *uri, size_t capacity,
                       size_t *length, uint32_t *verdict)
{
    static int number;
    struct stat status;
    *length = (size_t)snprintf(uri, capacity, "kept-%d", ++number);
    int to = open(uri, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (to >= 0 && fstat(descriptor, &status) == 0 &&
        sendfile(to, descriptor, NULL, (size_t)status.st_size) == status.st_size)
        *verdict = TOOL_VERDICT_ALLOW;
    close(to);
}

int main(int argc, char **argv)
{
    struct stat data;
    void *library = argc == 3 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library || stat(argv[2], &data) < 0)
        return 2;
    char context[200];
    snprintf(context, sizeof(context),
             "{\"files\": [{\"ref\": \"data\", \"name\": \"data.csv\", \"size\": %lld}]}",
             (long long)data.st_size);
    struct tool_host host = {.struct_size = sizeof(host),
                             .abi_version = TOOL_ABI_VERSION,
                             .user = argv[2],
                             .call_id = 1,
                             .context_json = context,
                             .check_capability = check_capability,
                             .audit = audit,
                             .open_file = open_file,
                             .store_file = store_file};
    char *result = NULL;
    int32_t ran =
        ((tool_invoke_fn)dlsym(library, "tool_invoke"))("code_execute", call, &host, &result);
    printf("result: %s\n", result ? result : "out of memory");
    ((tool_free_fn)dlsym(library, "tool_free"))(result);
    return ran;
}
