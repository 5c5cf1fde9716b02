/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what a container's Python is given: see guest_python.h. Runs in the guest. */
#include "guest/program/guest_python.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "guest/program/guest_python_text.h"
#include "guest/program/guest_script.h"
#include "protocol/run_description.h"

#define VARIABLE "PYTHONPATH="

bool python_write_script(void)
{
    CLEANUP_CLOSE int fd =
        script_write(SCRIPT_PLACE "/sitecustomize.py", guest_python_text, guest_python_length);
    return fd >= 0;
}

static bool has_home(char *const *variables)
{
    while (*variables && strncmp(*variables, "HOME=", 5) != 0)
        variables++;
    return *variables != NULL;
}

char **python_environment(char *const *given, const char *what)
{
    char *path;
    const char *rest = script_variable_value(given, VARIABLE);
    bool has_more = rest && rest[0]; /* an empty path behind ours would be the working directory */
    if (asprintf(&path, VARIABLE SCRIPT_PLACE "%s%s", has_more ? ":" : "", has_more ? rest : "") <
        0)
        return NULL;
    const char *const added[] = {path, what, "HOME=" RUN_HOME};
    return script_environment(given, VARIABLE, added, COUNT_OF(added) - has_home(given));
}
