/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the script for a container's Python: see guest_python.h. Runs in the guest. */
#include "guest/guest_python.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "guest/guest_program.h"
#include "guest/guest_python_text.h"
#include "protocol/run_description.h"

#define PLACE    "/tmp/.code-execute"
#define SCRIPT   PLACE "/sitecustomize.py"
#define VARIABLE "PYTHONPATH="

static bool write_whole(int fd)
{
    for (size_t written = 0; written < guest_python_length;) {
        ssize_t count = write(fd, guest_python_text + written, guest_python_length - written);
        if (count < 0 && errno != EINTR)
            return false;
        written += count > 0 ? (size_t)count : 0;
    }
    return true;
}

bool python_write_script(void)
{
    if (mkdir(PLACE, 0755) < 0)
        return false;
    CLEANUP_CLOSE int fd = open(SCRIPT, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd >= 0 && write_whole(fd))
        return true;
    (void)unlink(SCRIPT);
    (void)rmdir(PLACE);
    return false;
}

/* Its value; NULL: it is not among them. */
static const char *python_path_of(char *const *variables)
{
    for (; *variables; variables++)
        if (strncmp(*variables, VARIABLE, sizeof(VARIABLE) - 1) == 0)
            return *variables + sizeof(VARIABLE) - 1;
    return NULL;
}

static const char *compose_python_path(char *const *given)
{
    static char composed[8192];
    const char *path = python_path_of(given);
    if (!path)
        path = python_path_of(environ);
    bool has_more = path && path[0];
    int length = snprintf(composed, sizeof(composed), VARIABLE PLACE "%s%s", has_more ? ":" : "",
                          has_more ? path : "");
    return length < (int)sizeof(composed) ? composed : NULL;
}

static bool has_home(char *const *variables)
{
    while (*variables && strncmp(*variables, "HOME=", 5) != 0)
        variables++;
    return *variables != NULL;
}

char **python_environment(char *const *given, const char *what)
{
    const char *path = compose_python_path(given);
    size_t count = 0;
    while (given[count])
        count++;
    CLEANUP_FREE char **list = path ? calloc(count + 4, sizeof(char *)) : NULL;
    if (!list)
        return NULL;
    size_t length = 0;
    for (size_t i = 0; i < count; i++)
        if (strncmp(given[i], VARIABLE, sizeof(VARIABLE) - 1) != 0)
            list[length++] = given[i];
    if (!has_home(given))
        list[length++] = (char *)(uintptr_t)("HOME=" RUN_HOME);
    list[length++] = (char *)(uintptr_t)what;
    list[length] = (char *)(uintptr_t)path;
    return program_environment(list);
}
