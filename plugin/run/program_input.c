/* SPDX-License-Identifier: Apache-2.0 */
/* Makes inputs of runs: see run.h. Runs in the gateway, on the thread inside tool_invoke(). */
#include "run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/write_fully.h"

int program_input_open(const char *text, size_t length, struct error *error)
{
    if (!text) {
        int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
        return null >= 0
                   ? null
                   : error_set_errno(error, ERROR_INTERNAL, errno, "/dev/null cannot be opened");
    }
    CLEANUP_CLOSE int fd = memfd_create("stdin", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return error_set_errno(error, ERROR_INTERNAL, errno,
                               "no memory file for the standard input");
    if (!write_fully(fd, text, length))
        return error_set_errno(error, ERROR_INTERNAL, errno,
                               "the standard input cannot be written");
    if (lseek(fd, 0, SEEK_SET) != 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0)
        return error_set_errno(error, ERROR_INTERNAL, errno, "the standard input cannot be sealed");
    return TAKE_FD(fd);
}
