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
#define MADV_POPULATE_READ  22 /* Linux 5.14, madvise(2) */
#define MADV_POPULATE_WRITE 23
#endif

struct mapping {
    uintptr_t start;
    size_t length;
    bool writable;
};

/* "START-END rwxp OFFSET DEVICE INODE PATH" of a mapping that is readable and not shared, and of a
 * file where it is not writable. */
static bool parse_mapping(const char *line, struct mapping *ret)
{
    char *end;
    errno = 0;
    uintptr_t start = strtoul(line, &end, 16);
    if (errno != 0 || *end != '-')
        return false;
    uintptr_t stop = strtoul(end + 1, &end, 16);
    if (errno != 0 || stop <= start || strncmp(end, " r", 2) != 0 || end[4] != 'p')
        return false;
    *ret = (struct mapping){.start = start, .length = stop - start, .writable = end[2] == 'w'};
    return ret->writable || strchr(end, '/');
}

/* As much of it as the limit has left. */
static void populate(const struct mapping *mapping, int advice, size_t *limit)
{
    size_t length = mapping->length < *limit ? mapping->length : *limit & ~(size_t)4095;
    *limit -= length;
    /* From a number that the kernel has given. */
    if (length > 0)
        (void)madvise((void *)mapping->start, length, advice); // NOLINT(performance-no-int-to-ptr)
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

void own_pages(size_t own_limit, size_t read_limit)
{
    static char maps[MAPS_LIMIT + 1];
    maps[read_maps(maps, MAPS_LIMIT)] = '\0';
    char *rest;
    for (char *line = strtok_r(maps, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        struct mapping mapping;
        if (!parse_mapping(line, &mapping))
            continue;
        if (mapping.writable)
            populate(&mapping, MADV_POPULATE_WRITE, &own_limit);
        else
            populate(&mapping, MADV_POPULATE_READ, &read_limit);
    }
}
