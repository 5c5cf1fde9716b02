/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the look at what a copy would share: see copy_obstacles.h. Each cell waits for it, so what
 * the kernel can tell in one call is asked so, and read from a list where an older one cannot. */
#include "backends/process/program/copy_obstacles.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"

#define MAPS_CHUNK 65536 /* bytes, of lines that are shorter */

/* PROCMAP_QUERY of linux/fs.h (Linux 6.11), which the headers of Debian 12 have not. */
struct mapping_query {
    uint64_t size;
    uint64_t flags;
    uint64_t address;
    uint64_t found[6]; /* start, end, flags, page size, offset, inode */
    uint32_t device[2];
    uint32_t name_size;
    uint32_t build_id_size;
    uint64_t name;
    uint64_t build_id;
};
#define MAPPING_QUERY     _IOWR('f', 17, struct mapping_query)
#define MAPPING_WRITABLE  UINT64_C(0x02)
#define MAPPING_SHARED    UINT64_C(0x08)
#define MAPPING_FROM_HERE UINT64_C(0x10) /* the one at the address, or the next one */

/* The list has the pid of each, and a blank (proc(5)). */
bool copy_obstacles_has_children(pid_t pid, size_t known)
{
    char path[64];
    char list[512];
    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, list, sizeof(list));
    size_t count = 0;
    for (ssize_t i = 0; i < length; i++)
        count += list[i] == ' ';
    return length < 0 || count != known;
}

/* "START-END rwxs ...": is the mapping of that line shared, and can it be written to? */
static bool is_shared_line(const char *line)
{
    const char *rights = strchr(line, ' ');
    return rights && strlen(rights) > 4 && rights[2] == 'w' && rights[4] == 's';
}

/* Whether one of the whole lines is of a shared mapping; *length becomes that of the rest. */
static bool has_shared_line(char *maps, size_t *length)
{
    bool found = false;
    char *line = maps;
    char *end;
    while (!found && (end = memchr(line, '\n', *length - (size_t)(line - maps)))) {
        *end = '\0';
        found = is_shared_line(line);
        line = end + 1;
    }
    *length -= (size_t)(line - maps);
    memmove(maps, line, *length);
    return found;
}

/* Also where the list cannot be read. */
static bool lists_shared_memory(int file)
{
    static char maps[MAPS_CHUNK];
    size_t length = 0;
    ssize_t count = 1;
    bool shares = false;
    while (!shares && count > 0) {
        count = read(file, maps + length, sizeof(maps) - length);
        shares = count < 0;
        length += count > 0 ? (size_t)count : 0;
        shares = shares || has_shared_line(maps, &length);
    }
    return shares;
}

bool copy_obstacles_shares_memory(pid_t pid)
{
    char path[32];
    (void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    CLEANUP_CLOSE int file = open(path, O_RDONLY | O_CLOEXEC);
    struct mapping_query query = {
        .size = sizeof(query),
        .flags = MAPPING_WRITABLE | MAPPING_SHARED | MAPPING_FROM_HERE,
    };
    if (file < 0 || ioctl(file, MAPPING_QUERY, &query) == 0)
        return true;
    return errno != ENOENT && lists_shared_memory(file);
}
