/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the table of names: see shell_names.h. */
#include "gate/shell_names.h"

#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"

/* Of the shells that images have as /bin/sh: dash(1) reads OPTIND as a number and ends where it is
 * none; all others are bash(1)'s, read-only or with a value of its own. */
static const char *const names[] = {
    "_",
    "BASHOPTS",
    "BASHPID",
    "BASH_ALIASES",
    "BASH_ARGC",
    "BASH_ARGV",
    "BASH_CMDS",
    "BASH_COMMAND",
    "BASH_LINENO",
    "BASH_MONOSECONDS",
    "BASH_SOURCE",
    "BASH_SUBSHELL",
    "BASH_VERSINFO",
    "DIRSTACK",
    "EPOCHREALTIME",
    "EPOCHSECONDS",
    "EUID",
    "FUNCNAME",
    "GROUPS",
    "HISTCMD",
    "LINENO",
    "OPTIND",
    "PIPESTATUS",
    "PPID",
    "RANDOM",
    "SECONDS",
    "SHELLOPTS",
    "SRANDOM",
    "UID",
};

static const char *find(const char *name, size_t length)
{
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
            return names[i];
    return NULL;
}

const char *shell_names_find(char *const *environment)
{
    const char *found = NULL;
    for (; !found && environment && *environment; environment++)
        found = find(*environment, strcspn(*environment, "="));
    return found;
}

bool shell_names_has(const char *name)
{
    return find(name, strlen(name)) != NULL;
}
