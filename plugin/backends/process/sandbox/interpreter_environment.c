/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the list: see interpreter_environment.h. */
#include "backends/process/sandbox/interpreter_environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/process/sandbox/sandbox.h"
#include "base/cleanup.h"

#define ADDED 9

static char *variable(const char *name, const char *value)
{
    char *text;
    return asprintf(&text, "%s=%s", name, value) < 0 ? NULL : text;
}

/* "a,b" */
static char *join(char *const *names)
{
    size_t size = 1;
    size_t used = 0;
    for (char *const *name = names; *name; name++)
        size += strlen(*name) + 1;
    char *joined = calloc(1, size);
    for (char *const *name = names; joined && *name; name++) {
        size_t length = strlen(*name);
        if (used > 0)
            joined[used++] = ',';
        memcpy(&joined[used], *name, length);
        used += length;
    }
    return joined;
}

/* The value of a variable of the policy's, "" where it has none. */
static const char *value_of(char *const *environment, const char *name)
{
    size_t length = strlen(name);
    for (; *environment; environment++)
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
            return &(*environment)[length + 1];
    return "";
}

static bool is_one_of(const char *const names[][2], size_t count, const char *entry)
{
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(names[i][0]);
        if (strncmp(entry, names[i][0], length) == 0 && entry[length] == '=')
            return true;
    }
    return false;
}

char **interpreter_environment(const struct interpreter_template *interpreter, const char *home,
                               const char *files, const char *what, const char *trusted)
{
    size_t count = 0;
    while (interpreter->environment[count])
        count++;
    char **environment = calloc(count + ADDED + 1, sizeof(*environment));
    CLEANUP_FREE char *modules = join(interpreter->modules);
    const char *own_path = value_of(interpreter->environment, "PYTHONPATH");
    char *path;
    CLEANUP_FREE char *named = join(interpreter->named_modules);
    if (!environment || !modules || !named ||
        asprintf(&path, "%s%s%s", files, own_path[0] ? ":" : "", own_path) < 0)
        return NULL;
    CLEANUP_FREE char *owned_path = path;
    const char *const added[ADDED][2] = {
        {"HOME", home},
        {"CODE_EXECUTE_INTERPRETER", what},
        {"CODE_EXECUTE_IMPORT", modules},
        {"CODE_EXECUTE_PROGRAM", interpreter->argv[interpreter->program_argument]},
        {"CODE_EXECUTE_HOME", SANDBOX_HOME},
        {"CODE_EXECUTE_IMPORT_NAMED", named},
        {"CODE_EXECUTE_TRUSTED", trusted},
        {"PYTHONPATH", owned_path},
        {"PYTHONDONTWRITEBYTECODE", "1"},
    };
    size_t added_count = interpreter->kind == RUN_INTERPRETER_PYTHON ? ADDED : ADDED - 4;
    size_t used = 0;
    for (size_t i = 0; i < count; i++)
        if (!is_one_of(added, added_count, interpreter->environment[i]))
            environment[used++] = interpreter->environment[i];
    for (size_t i = 0; i < added_count; i++) {
        environment[used] = variable(added[i][0], added[i][1]);
        if (!environment[used++])
            return NULL;
    }
    return environment;
}
