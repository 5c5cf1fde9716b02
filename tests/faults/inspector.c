/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the copy of the program that looks around: see inspector.h. */
#include "inspector.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../process/harness.h"
#include "base/cleanup.h"

static char copied[] = "/var/tmp/code-execute-faults-XXXXXX/inside";

static void remove_copy(void)
{
    (void)unlink(copied);
    *strrchr(copied, '/') = '\0';
    (void)rmdir(copied);
}

/* Where every user can walk to it: a build may be in a directory of root's own. */
static char *copy_for_all(const char *program)
{
    char block[65536];
    CLEANUP_CLOSE int source = open(program, O_RDONLY | O_CLOEXEC);
    char *name = strrchr(copied, '/');
    *name = '\0';
    bool made = mkdtemp(copied) != NULL && chmod(copied, 0755) == 0;
    *name = '/';
    CLEANUP_CLOSE int copy =
        made ? open(copied, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755) : -1;
    ssize_t length;
    while ((length = read(source, block, sizeof(block))) > 0)
        made = made && write(copy, block, (size_t)length) == length;
    if (!made || length < 0 || fchmod(copy, 0755) < 0) {
        perror("copy the program that looks around");
        exit(1);
    }
    (void)atexit(remove_copy);
    return copied;
}

struct run_description inspector_run(void)
{
    static char *words[2];
    static char path[] = "in/put";
    static struct run_file input = {.path = path,
                                    .length = sizeof(HARNESS_INPUT) - 1,
                                    .by_reference = true,
                                    .sha256 = HARNESS_INPUT_HASH};
    static const char *paths[] = {"/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache", NULL, NULL};
    if (!words[0])
        words[0] = copy_for_all(getenv("INSIDE"));
    paths[COUNT_OF(paths) - 2] = words[0];
    struct run_description description = describe(words);
    description.limits.wall_ms = 3000;
    description.files = &input;
    description.file_count = 1;
    description.read_only_paths = (char **)(uintptr_t)paths;
    return description;
}

bool inspector_is_content(const char *output, bool landlock)
{
    char expected[512];
    (void)snprintf(expected, sizeof(expected),
                   "descriptors 3\npid 2, parent 1, uid 1000, gid 1000\n"
                   "no new privileges 1, capabilities 0, core 1\n"
                   "host sandbox, shadow 0, root's home 0\nunshare -1\ndevice %s\n",
                   landlock ? "Permission denied" : "Operation not permitted");
    return strcmp(output, expected) == 0;
}
