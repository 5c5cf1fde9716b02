/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the reading of what comes with a run: see run_input.h. Runs in the supervisors. */
#include "backends/common/run_input.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

static void wipe_free(unsigned char *bytes, size_t length)
{
    explicit_bzero(bytes, length);
    free(bytes);
}

unsigned char *run_read_file(int fd, size_t limit, size_t *ret_length)
{
    struct stat status;
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size <= 0 ||
        (uint64_t)status.st_size > limit)
        return NULL;
    size_t length = (size_t)status.st_size;
    unsigned char *bytes = malloc(length);
    for (size_t done = 0; bytes && done < length;) {
        ssize_t received = pread(fd, bytes + done, length - done, (off_t)done);
        if (received < 0 && errno == EINTR)
            continue;
        if (received <= 0) {
            wipe_free(TAKE_POINTER(bytes), done);
            break;
        }
        done += (size_t)received;
    }
    if (bytes)
        *ret_length = length;
    return bytes;
}

bool run_read_description(int fd, struct run_description *ret)
{
    size_t length = 0;
    unsigned char *bytes = run_read_file(fd, RUN_DESCRIPTION_LIMIT, &length);
    if (!bytes)
        return false;
    bool good = run_description_decode(bytes, length, ret);
    wipe_free(bytes, length);
    return good;
}
