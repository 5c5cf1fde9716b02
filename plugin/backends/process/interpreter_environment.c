/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the list: see interpreter_environment.h. */
#include "interpreter_environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../cleanup.h"
#include "sandbox.h"

#define ADDED 7

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

char **interpreter_environment(const struct interpreter_shape *interpreter, const char *home,
                               const char *files, const char *what)
{
    size_t count = 0;
    while (interpreter->environment[count])
        count++;
    char **environment = calloc(count + ADDED + 1, sizeof(*environment));
    CLEANUP_FREE char *modules = join(interpreter->modules);
    if (!environment || !modules)
        return NULL;
    memcpy(environment, interpreter->environment, count * sizeof(*environment));
    const char *const added[ADDED][2] = {
        {"HOME", home},
        {"CODE_EXECUTE_INTERPRETER", what},
        {"CODE_EXECUTE_IMPORT", modules},
        {"CODE_EXECUTE_PROGRAM", interpreter->argv[interpreter->program_argument]},
        {"CODE_EXECUTE_HOME", SANDBOX_HOME},
        {"PYTHONPATH", files},
        {"PYTHONDONTWRITEBYTECODE", "1"},
    };
    bool is_python = interpreter->kind == RUN_INTERPRETER_PYTHON;
    for (size_t i = 0; i < (is_python ? ADDED : ADDED - 2); i++) {
        environment[count] = variable(added[i][0], added[i][1]);
        if (!environment[count++])
            return NULL;
    }
    return environment;
}
