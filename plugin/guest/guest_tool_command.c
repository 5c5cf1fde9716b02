/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the place of the command: see guest_tool_command.h. */
#include "guest/guest_tool_command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest/guest_protocol.h"
#include "guest/guest_script.h"

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
