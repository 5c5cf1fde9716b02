/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the place of the scripts, and their variables: see guest_script.h. Runs in the guest. */
#include "guest/program/guest_script.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/write_fully.h"
#include "guest/program/guest_program.h"

int script_write(const char *path, const char *text, size_t length)
{
    if (mkdir(SCRIPT_PLACE, 0755) < 0)
        return -1;
    CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd >= 0 && write_fully(fd, text, length))
        return TAKE_FD(fd);
    (void)unlink(path);
    (void)rmdir(SCRIPT_PLACE);
    return -1;
}

/* Its value; NULL: it is not among them. */
static const char *value_of(char *const *variables, const char *name)
{
    for (; *variables; variables++)
        if (strncmp(*variables, name, strlen(name)) == 0)
            return *variables + strlen(name);
    return NULL;
}

const char *script_variable_value(char *const *given, const char *name)
{
    const char *value = value_of(given, name);
    return value ? value : value_of(environ, name);
}

char **script_environment(char *const *given, const char *name, const char *const *added,
                          size_t added_count)
{
    size_t count = 0;
    while (given[count])
        count++;
    CLEANUP_FREE char **list = calloc(count + added_count + 1, sizeof(char *));
    if (!list)
        return NULL;
    size_t length = 0;
    for (size_t i = 0; i < count; i++)
        if (strncmp(given[i], name, strlen(name)) != 0)
            list[length++] = given[i];
    for (size_t i = 0; i < added_count; i++)
        list[length++] = (char *)(uintptr_t)added[i];
    return program_environment(list);
}
