/* SPDX-License-Identifier: Apache-2.0 */
/* Messages in sealed memory files. Runs in the gateway, on any thread. */
#include "program/backend_program.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/write_fully.h"

int sealed_message_open(const char *name, const void *bytes, size_t length, struct error *error)
{
    CLEANUP_CLOSE int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || !write_fully(fd, bytes, length))
        return error_set_errno(error, ERROR_BACKEND_FAILED, errno,
                               "cannot create a memory file for the run");
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0)
        return error_set_errno(error, ERROR_BACKEND_FAILED, errno,
                               "the run's memory file cannot be sealed");
    return TAKE_FD(fd);
}
