/* SPDX-License-Identifier: Apache-2.0 */
/* The place of toolhost's own files, and who can have written them. */
#include "base/state_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"

#define OF_GROUP_AND_OTHERS (S_IRWXG | S_IRWXO)

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

bool trusted_file_check(const struct stat *status, const char *path, const char *code,
                        struct failure *failure)
{
    if (!S_ISREG(status->st_mode))
        return failure_set(failure, code, "%s: not a regular file", path);
    if (status->st_uid != geteuid() && status->st_uid != 0) {
        (void)failure_set(failure, code,
                          "%s is owned by user %u; it must be owned by this user or by root", path,
                          status->st_uid);
        return failure_set_hint(failure, "its owner can change it: chown it, or name another file");
    }
    if ((status->st_mode & OF_GROUP_AND_OTHERS) != 0) {
        (void)failure_set(failure, code,
                          "%s has mode %04o: users other than its owner can access it", path,
                          status->st_mode & 07777u);
        return failure_set_hint(failure, "check that its content is right, then chmod 600 it");
    }
    return true;
}
