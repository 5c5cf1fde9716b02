/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a provider and looks its functions up. On the main thread. */
#include "host/provider.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"

struct export
{
    const char *name;
    size_t offset; /* of its pointer in struct provider */
    bool required;
};

static const struct export exports[] = {
    {"tool_abi_version", offsetof(struct provider, abi_version), true},
    {"tool_manifest", offsetof(struct provider, manifest), true},
    {"tool_invoke", offsetof(struct provider, invoke), true},
    {"tool_free", offsetof(struct provider, free), true},
    {"tool_cancel", offsetof(struct provider, cancel), true},
    {"tool_reply_approval", offsetof(struct provider, reply_approval), true},
    {"tool_prepare", offsetof(struct provider, prepare), false},
    {"tool_status", offsetof(struct provider, status), true},
    {"tool_end_session", offsetof(struct provider, end_session), false},
    {"tool_reply_call", offsetof(struct provider, reply_call), false},
    {"tool_shutdown", offsetof(struct provider, shutdown), true},
};

static char *absolute_path(const char *path, struct failure *failure)
{
    char *resolved = realpath(path, NULL);
    if (!resolved)
        (void)failure_set_errno(failure, "plugin_unusable", errno, "plugin %s", path);
    return resolved;
}

/* The directory of the running program, without a slash at its end. */
static bool program_directory(char *ret_directory, size_t capacity, struct failure *failure)
{
    ssize_t length = readlink("/proc/self/exe", ret_directory, capacity - 1);
    if (length < 0)
        return failure_set_errno(failure, "plugin_unusable", errno, "cannot find toolhost itself");
    ret_directory[length] = '\0';
    char *slash = strrchr(ret_directory, '/');
    if (slash)
        *slash = '\0';
    return true;
}

/* In the build tree first: there the two lie side by side. */
static char *beside_the_program(struct failure *failure)
{
    static const char *const relative[] = {"../plugin/code_execute.so", TOOLHOST_INSTALLED_PLUGIN};
    char directory[PATH_MAX];
    if (!program_directory(directory, sizeof(directory), failure))
        return NULL;
    for (size_t i = 0; i < COUNT_OF(relative); i++) {
        CLEANUP_FREE char *path = NULL;
        const char *base = relative[i][0] == '/' ? "" : directory;
        if (asprintf(&path, "%s/%s", base, relative[i]) < 0) {
            path = NULL;
            (void)failure_out_of_memory(failure);
            return NULL;
        }
        char *resolved = realpath(path, NULL);
        if (resolved)
            return resolved;
    }
    (void)failure_set(failure, "plugin_unusable", "no plugin next to toolhost in %s", directory);
    failure_set_hint(failure, "name one: toolhost --plugin FILE.so, or set TOOLHOST_PLUGIN");
    return NULL;
}

bool provider_locate(const char *option, char **ret_path, struct failure *failure)
{
    const char *environment = getenv("TOOLHOST_PLUGIN");
    char *path = NULL;
    if (option)
        path = absolute_path(option, failure);
    else if (environment && *environment)
        path = absolute_path(environment, failure);
    else
        path = beside_the_program(failure);
    if (!path)
        return false;
    *ret_path = path;
    return true;
}

static bool look_up_exports(struct provider *provider, const char *path, struct failure *failure)
{
    for (size_t i = 0; i < COUNT_OF(exports); i++) {
        void *symbol = dlsym(provider->library, exports[i].name);
        if (!symbol && exports[i].required)
            return failure_set(failure, "plugin_unusable",
                               "%s is not a tool provider: it does not export %s", path,
                               exports[i].name);
        memcpy((char *)provider + exports[i].offset, &symbol, sizeof(symbol));
    }
    return true;
}

static bool check_major(const struct provider *provider, const char *path, struct failure *failure)
{
    assert(provider->abi_version); /* look_up_exports() has seen to it */
    uint32_t version = provider->abi_version();
    if (version >> 16 == TOOL_ABI_VERSION_MAJOR)
        return true;
    (void)failure_set(failure, "plugin_unusable", "%s uses ABI %u.%u; this toolhost supports %u.x",
                      path, (unsigned)(version >> 16), (unsigned)(version & 0xFFFFu),
                      TOOL_ABI_VERSION_MAJOR);
    return failure_set_hint(failure, "use a toolhost and a plugin of the same major version");
}

bool provider_open(const char *path, struct provider *ret, struct failure *failure)
{
    struct provider provider = {.library = dlopen(path, RTLD_NOW | RTLD_LOCAL)};
    if (!provider.library)
        return failure_set(failure, "plugin_unusable", "cannot load %s", dlerror());
    if (!look_up_exports(&provider, path, failure) || !check_major(&provider, path, failure)) {
        (void)dlclose(provider.library);
        return false;
    }
    *ret = provider;
    return true;
}

void provider_close(struct provider *provider)
{
    if (!provider->library)
        return;
    provider->shutdown();
    (void)dlclose(provider->library);
    *provider = (struct provider){0};
}

char *provider_take_text(const struct provider *provider, char *text)
{
    char *copy = text ? strdup(text) : NULL;
    provider->free(text);
    return copy;
}
