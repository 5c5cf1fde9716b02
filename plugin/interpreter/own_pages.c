/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the breaking of copy-on-write ahead of need: see own_pages.h. */
#include "own_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../cleanup.h"

#define MAPS_LIMIT 65536 /* bytes of /proc/self/maps that are looked at */

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14, madvise(2) */
#endif

/* "START-END rwxp ..." of a mapping that is writable and not shared. */
static bool parse_mapping(const char *line, uintptr_t *ret_start, size_t *ret_length)
{
    char *end;
    errno = 0;
    uintptr_t start = strtoul(line, &end, 16);
    if (errno != 0 || *end != '-')
        return false;
    uintptr_t stop = strtoul(end + 1, &end, 16);
    if (errno != 0 || stop <= start || strncmp(end, " rw", 3) != 0 || end[4] != 'p')
        return false;
    *ret_start = start;
    *ret_length = stop - start;
    return true;
}

/* As much as fits; the caller ends it. */
static size_t read_maps(char *maps, size_t size)
{
    CLEANUP_CLOSE int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    size_t length = 0;
    ssize_t received = 0;
    while (fd >= 0 && length < size && (received = read(fd, maps + length, size - length)) > 0)
        length += (size_t)received;
    return length;
}

void own_pages(size_t limit)
{
    static char maps[MAPS_LIMIT + 1];
    maps[read_maps(maps, MAPS_LIMIT)] = '\0';
    char *rest;
    for (char *line = strtok_r(maps, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        uintptr_t start;
        size_t length;
        if (!parse_mapping(line, &start, &length))
            continue;
        if (length > limit)
            length = limit & ~(size_t)4095;
        if (length == 0)
            return;
        /* From a number that the kernel has given. */
        (void)madvise((void *)start, length,
                      MADV_POPULATE_WRITE); // NOLINT(performance-no-int-to-ptr)
        limit -= length;
    }
}
