/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the place of the command: see guest_tool_command.h. */
#include "guest/program/guest_tool_command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/string_list.h"
#include "guest/program/guest_script.h"

#define COMMAND  "tool"
#define PLACE    "/tmp/.code-execute-bin"
#define VARIABLE "PATH="

bool guest_is_tool_command(const char *name)
{
    const char *slash = strrchr(name, '/');
    return strcmp(slash ? slash + 1 : name, COMMAND) == 0;
}

/* A further shell of a session finds what the first one has, or what the program has left of it. */
static bool make_link(void)
{
    return (mkdir(PLACE, 0755) == 0 && symlink(GUEST_PATH, PLACE "/" COMMAND) == 0) ||
           errno == EEXIST;
}

/* That of the run or, where it has none, the image's. */
static bool put_ahead(char ***environment, const char *variable, const char *directory)
{
    const char *rest = script_variable_value(*environment, variable);
    bool has_more = rest && rest[0];
    size_t count = string_list_count(*environment);
    size_t at = 0;
    char *whole;
    if (asprintf(&whole, "%s%s%s%s", variable, directory, has_more ? ":" : "",
                 has_more ? rest : "") < 0)
        return false;
    while (at < count && strncmp((*environment)[at], variable, strlen(variable)) != 0)
        at++;
    char **grown =
        at < count ? *environment : reallocarray(*environment, count + 2, sizeof(char *));
    if (!grown) {
        free(whole);
        return false;
    }
    free(at < count ? grown[at] : NULL);
    grown[at] = whole;
    grown[at < count ? count : count + 1] = NULL;
    *environment = grown;
    return true;
}

/* Its search path would show it: none of our scripts takes it away again. */
static bool is_plain_python(const struct guest_run *run)
{
    const char *slash = strrchr(run->argv[0], '/');
    bool is_python = strncmp(slash ? slash + 1 : run->argv[0], "python", strlen("python")) == 0;
    return is_python && (run->runner != RUN_INTERPRETER_PYTHON || !run->has_results);
}

bool installers_add(struct guest_run *run)
{
    return !run->has_installers ||
           (put_ahead(&run->environment, VARIABLE, GUEST_INSTALLERS) &&
            (is_plain_python(run) ||
             put_ahead(&run->environment, "PYTHONPATH=", GUEST_INSTALLERS)));
}

char **tool_command_environment(char *const *given)
{
    char *path;
    const char *rest = script_variable_value(given, VARIABLE);
    bool has_more = rest && rest[0]; /* an empty path behind ours would be the working directory */
    if (!make_link() ||
        asprintf(&path, VARIABLE PLACE "%s%s", has_more ? ":" : "", has_more ? rest : "") < 0)
        return NULL;
    const char *const added[] = {path};
    return script_environment(given, VARIABLE, added, 1);
}
