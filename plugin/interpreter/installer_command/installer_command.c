/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the course of the commands, and the way to the machine's own: see installer_command.h. */
#include "interpreter/installer_command/installer_command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

enum status { STATUS_DONE = 0, STATUS_NOT_INSTALLED = 1, STATUS_NO_COMMAND = 127 };

/* The file that was executed, and its directory. */
struct own_place {
    struct stat file;
    char directory[PATH_MAX];
};

static bool find_own_place(struct own_place *ret)
{
    const char *path = (const char *)getauxval(AT_EXECFN);
    struct own_place place;
    if (!path || stat(path, &place.file) < 0 ||
        (size_t)snprintf(place.directory, sizeof(place.directory), "%s", path) >=
            sizeof(place.directory))
        return false;
    char *slash = strrchr(place.directory, '/');
    if (!slash)
        return false;
    *slash = '\0';
    *ret = place;
    return true;
}

/* The machine's command: the first of that name in PATH that is another file. */
static bool find_command(const struct own_place *own, const char *name, char ret[PATH_MAX])
{
    struct stat status;
    const char *path = getenv("PATH");
    while (path && *path) {
        size_t length = strcspn(path, ":");
        if (path[0] == '/' &&
            (size_t)snprintf(ret, PATH_MAX, "%.*s/%s", (int)length, path, name) < PATH_MAX &&
            stat(ret, &status) == 0 && S_ISREG(status.st_mode) && access(ret, X_OK) == 0 &&
            (status.st_dev != own->file.st_dev || status.st_ino != own->file.st_ino))
            return true;
        path += length + (path[length] == ':');
    }
    return false;
}

/* Python shall find its own module pip, not ours. */
static bool take_back_python_path(const struct own_place *own)
{
    const char *path = getenv("PYTHONPATH");
    CLEANUP_FREE char *kept = calloc(1, path ? strlen(path) + 2 : 1);
    if (!kept)
        return false;
    while (path && *path) {
        size_t length = strcspn(path, ":");
        if (length != strlen(own->directory) || strncmp(path, own->directory, length) != 0) {
            if (kept[0])
                (void)strcat(kept, ":");
            (void)strncat(kept, path, length);
        }
        path += length + (path[length] == ':');
    }
    return kept[0] ? setenv("PYTHONPATH", kept, 1) == 0 : unsetenv("PYTHONPATH") == 0;
}

/* The words for it; words[0] is the command's name, and python that of the interpreter whose module
 * pip it is, or NULL. NULL: no memory. */
static char **compose(const char *python, int count, char **words)
{
    static char option[] = "-m";
    static char module[] = "pip";
    char **all = calloc((size_t)count + 3, sizeof(*all));
    size_t used = 0;
    if (!all)
        return NULL;
    if (python) {
        all[used++] = (char *)(uintptr_t)python;
        all[used++] = option;
        all[used++] = module;
    } else {
        all[used++] = words[0];
    }
    memcpy(&all[used], &words[1], (size_t)(count - 1) * sizeof(*all));
    return all;
}

static enum status pass_on(const struct own_place *own, const char *command, const char *python,
                           int count, char **words)
{
    CLEANUP_FREE char **all = compose(python, count, words);
    if (all && take_back_python_path(own))
        (void)execv(command, all);
    (void)fprintf(stderr, "%s: %s: %s\n", words[0], command, strerror(errno));
    return STATUS_NO_COMMAND;
}

/* pip compares versions; without an index it finds nothing else. Its words would lead nowhere. */
static bool pip_is_satisfied(const struct own_place *own, const char *command, const char *python,
                             int count, char **words)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
        bool ready = nowhere >= 0 && dup2(nowhere, STDOUT_FILENO) >= 0 &&
                     dup2(nowhere, STDERR_FILENO) >= 0 && setenv("PIP_NO_INDEX", "1", 1) == 0 &&
                     setenv("PIP_BREAK_SYSTEM_PACKAGES", "1", 1) == 0;
        _exit(ready ? (int)pass_on(own, command, python, count, words) : STATUS_NO_COMMAND);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* What pip.py says of its interpreter, taken from the words; NULL: it has not called. */
static const char *take_python(int *count, char **words)
{
    if (*count < 2 || strncmp(words[1], FROM_PYTHON, strlen(FROM_PYTHON)) != 0)
        return NULL;
    const char *python = words[1] + strlen(FROM_PYTHON);
    memmove(&words[1], &words[2], (size_t)(*count - 1) * sizeof(*words));
    (*count)--;
    return python;
}

int installer_command(int count, char **words)
{
    char found[PATH_MAX];
    struct own_place own;
    const char *python = take_python(&count, words);
    struct installer_request request = {.installer = count > 0 ? installer_find(words[0]) : NULL};
    const char *command = python ? python : found;
    if (!request.installer || !find_own_place(&own))
        return STATUS_NO_COMMAND;
    request.has_own =
        python ? python[0] != '\0' : find_command(&own, request.installer->name, found);
    request.installs = installer_installs(request.installer, count, words, &request.wanted);
    if (!request.installs && request.has_own)
        return pass_on(&own, command, python, count, words);
    enum installer_verdict verdict = installer_judge(&request);
    if (verdict == INSTALLER_CANNOT_TELL && request.has_own && request.installer->is_pip &&
        pip_is_satisfied(&own, command, python, count, words))
        verdict = INSTALLER_SATISFIED;
    if (verdict == INSTALLER_SATISFIED) {
        installer_tell_satisfied(&request);
        return STATUS_DONE;
    }
    installer_explain(&request);
    return request.installs ? STATUS_NOT_INSTALLED : STATUS_NO_COMMAND;
}
