/* SPDX-License-Identifier: Apache-2.0 */
/* Looking whether a cell has left files: see cell.h. Runs in the program of a session. */
#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "interpreter/cell/cell.h"

/* As the kernel writes them (getdents64(2)). musl has no dirent64 from 1.2.4 on. */
static_assert(offsetof(struct dirent, d_name) == 19, "the C library has another struct dirent");

/* Two for the directory itself and the one above it. */
static bool are_own(const struct dirent *entries, size_t length)
{
    const char *bytes = (const char *)entries;
    for (size_t at = 0; at < length;) {
        const struct dirent *entry = (const struct dirent *)(const void *)&bytes[at];
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            return false;
        at += entry->d_reclen;
    }
    return true;
}

/* Not readdir(), which needs memory for its stream; and no function that one C library alone has,
 * because a container's Node may have any. */
static ssize_t read_entries(int directory, struct dirent entries[4])
{
    return syscall(SYS_getdents64, directory, entries, 4 * sizeof(*entries));
}

bool cell_home_is_empty(void)
{
    struct dirent entries[4];
    CLEANUP_CLOSE int home = open(cell_home(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ssize_t length = home < 0 ? -1 : read_entries(home, entries);
    while (length > 0 && are_own(entries, (size_t)length))
        length = read_entries(home, entries);
    return length == 0;
}
