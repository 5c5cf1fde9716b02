/* SPDX-License-Identifier: Apache-2.0 */
/* A whole write: across short writes and EINTR, which write(2) leaves to its caller. Any process,
 * any thread. */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

/* false, with errno: not all of it was written. */
static inline bool write_fully(int fd, const void *bytes, size_t length)
{
    const char *next = bytes;
    while (length > 0) {
        ssize_t written = write(fd, next, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        next += written;
        length -= (size_t)written;
    }
    return true;
}
