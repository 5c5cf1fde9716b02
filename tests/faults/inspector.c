/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the copy of the program that looks around: see inspector.h. */
#include "inspector.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../process/backend/harness.h"
#include "backends/process/messages/process_options.h"
#include "base/cleanup.h"
#include "copied_program.h"
#include "protocol/layers.h"

static char copied[] = "/var/tmp/code-execute-faults-XXXXXX/inside";
static char directory[PATH_MAX];
static bool has_endpoints;

uint32_t inspector_isolation(void)
{
    const char *mode = getenv("CODE_EXECUTE_TEST_MODE");
    return mode && strcmp(mode, "unprivileged") == 0 ? RUN_ISOLATION_UNPRIVILEGED
                                                     : RUN_ISOLATION_SANDBOX;
}

void inspector_has_endpoints(bool has)
{
    has_endpoints = has;
}

uint64_t inspector_layers(void)
{
    if (inspector_isolation() == RUN_ISOLATION_UNPRIVILEGED)
        return LAYERS_UNPRIVILEGED;
    return has_endpoints ? LAYERS_MANDATORY | LAYER_BIT(LAYER_ENDPOINT_BROKER) : LAYERS_MANDATORY;
}

const char *inspector_directory(void)
{
    return directory;
}

static void remove_copy(void)
{
    (void)rmdir(directory);
    remove_copied_program(copied);
}

/* Beside it, as the runs' own. */
static struct wire_bytes options_without_namespaces(void)
{
    struct wire_bytes bytes = {NULL, 0};
    (void)snprintf(directory, sizeof(directory), "%s", copied);
    (void)strcpy(strrchr(directory, '/'), "/runs");
    const struct process_options options = {.scratch_directory = directory};
    if (mkdir(directory, 0700) < 0 || !process_options_write(&options, &bytes)) {
        perror(directory);
        exit(1);
    }
    return bytes;
}

struct run_description inspector_run(void)
{
    static char *words[3];
    static struct wire_bytes options;
    static char path[] = "in/put";
    static struct run_file input = {.path = path,
                                    .length = sizeof(HARNESS_INPUT) - 1,
                                    .by_reference = true,
                                    .sha256 = HARNESS_INPUT_HASH};
    static const char *paths[] = {"/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache", NULL, NULL};
    bool is_unprivileged = inspector_isolation() == RUN_ISOLATION_UNPRIVILEGED;
    if (!words[0]) {
        copy_program(getenv("INSIDE"), copied);
        (void)atexit(remove_copy);
        words[0] = copied;
    }
    if (is_unprivileged && !words[1]) {
        words[1] = words[0];
        options = options_without_namespaces();
    }
    paths[COUNT_OF(paths) - 2] = words[0];
    struct run_description description = describe(words);
    description.isolation = inspector_isolation();
    description.options = options;
    description.endpoints = has_endpoints;
    description.limits.wall_ms = 3000;
    description.files = &input;
    description.file_count = 1;
    description.read_only_paths = (char **)(uintptr_t)paths;
    return description;
}

static void compose(bool landlock, char *ret, size_t size)
{
    static const char both[] = "descriptors 3\nno new privileges 1, capabilities 0, core 1\n"
                               "unshare -1\n";
    if (inspector_isolation() == RUN_ISOLATION_UNPRIVILEGED)
        (void)snprintf(ret, size,
                       "%ssignal Operation not permitted\nroot Permission denied\n"
                       "passwords Permission denied\nprocesses Permission denied\n"
                       "writing Permission denied\n"
                       "socket Address family not supported by protocol\n"
                       "memory file Function not implemented\nmode -1\n",
                       both);
    else
        (void)snprintf(ret, size,
                       "%spid 2, parent 1, uid 1000, gid 1000\n"
                       "host sandbox, shadow 0, root's home 0\ndevice %s\n",
                       both, landlock ? "Permission denied" : "Operation not permitted");
}

bool inspector_is_content(const char *output, bool landlock)
{
    char expected[512];
    compose(landlock, expected, sizeof(expected));
    return strcmp(output, expected) == 0;
}

bool inspector_is_content_so_far(const char *output)
{
    char expected[512];
    compose(true, expected, sizeof(expected));
    if (strncmp(output, expected, strlen(output)) == 0)
        return true;
    compose(false, expected, sizeof(expected));
    return strncmp(output, expected, strlen(output)) == 0;
}
