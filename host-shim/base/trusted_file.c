/* SPDX-License-Identifier: Apache-2.0 */
/* Judges owner and permissions of an opened file. Any thread. */
#include <unistd.h>

#include "base/state_file.h"

#define OF_GROUP_AND_OTHERS (S_IRWXG | S_IRWXO)

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
