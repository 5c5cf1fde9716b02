/* SPDX-License-Identifier: Apache-2.0 */
/* The place of toolhost's own files. */
#include "base/state_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"

bool state_file_path(const struct state_file *file, char **ret_path, struct failure *failure)
{
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    char *path = NULL;
    int length = -1;
    if (state && state[0] == '/')
        length = asprintf(&path, "%s/toolhost/%s", state, file->name);
    else if (home && home[0] == '/')
        length = asprintf(&path, "%s/.local/state/toolhost/%s", home, file->name);
    else {
        (void)failure_set(failure, file->code, "no directory for %s", file->what);
        return failure_set_hint(failure, "set HOME or XDG_STATE_HOME, or give %s FILE",
                                file->option);
    }
    if (length < 0)
        return failure_out_of_memory(failure);
    *ret_path = path;
    return true;
}

bool state_file_make_directories(const struct state_file *file, const char *path,
                                 struct failure *failure)
{
    CLEANUP_FREE char *copy = strdup(path);
    if (!copy)
        return failure_out_of_memory(failure);
    for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(copy, 0700) < 0 && errno != EEXIST) {
            (void)failure_set_errno(failure, file->code, errno, "cannot make directory %s", copy);
            return failure_set_hint(failure, "set HOME or XDG_STATE_HOME, or give %s FILE",
                                    file->option);
        }
        *slash = '/';
    }
    return true;
}
