/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the reading of the file of a worker's configuration: see configuration.h. */
#include <errno.h>
#include <stdlib.h>

#include "backends/worker/configuration.h"
#include "base/cleanup.h"
#include "base/trusted_file.h"

bool worker_configuration_read(const char *path, struct worker_configuration *ret,
                               struct error *error)
{
    CLEANUP_CLOSE int fd = trusted_file_open("configuration", path, ERROR_INVALID_POLICY, error);
    if (fd < 0)
        return false;
    /* One byte beyond the limit reveals a file that is too long. */
    CLEANUP_FREE char *text = malloc(WORKER_CONFIGURATION_LIMIT + 1);
    if (!text) {
        error_set(error, ERROR_OUT_OF_MEMORY, "%.200s: out of memory", path);
        return false;
    }
    ssize_t length = trusted_file_read(fd, text, WORKER_CONFIGURATION_LIMIT + 1);
    if (length < 0) {
        error_set_errno(error, ERROR_INVALID_POLICY, errno, "%.200s: cannot be read", path);
        return false;
    }
    return worker_configuration_parse(path, text, (size_t)length, ret, error);
}
