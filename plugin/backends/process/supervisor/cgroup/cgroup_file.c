/* SPDX-License-Identifier: Apache-2.0 */
/* Owns access to cgroup files: see cgroup_file.h. Runs in the supervisor. */
#include "backends/process/supervisor/cgroup/cgroup_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

int cgroup_file_open(const char *directory, const char *file, int flags)
{
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof(path), "%s/%s", directory, file) >= sizeof(path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return open(path, flags | O_CLOEXEC | O_NOFOLLOW);
}

int cgroup_file_write(const char *directory, const char *file, const char *text)
{
    CLEANUP_CLOSE int fd = cgroup_file_open(directory, file, O_WRONLY);
    if (fd < 0)
        return -1;
    size_t length = strlen(text);
    return write(fd, text, length) == (ssize_t)length ? 0 : -1;
}

int cgroup_file_write_number(const char *directory, const char *file, uint64_t number)
{
    char text[24];
    (void)snprintf(text, sizeof(text), "%" PRIu64, number);
    return cgroup_file_write(directory, file, text);
}

bool cgroup_file_read(const char *directory, const char *file, char *text, size_t size)
{
    CLEANUP_CLOSE int fd = cgroup_file_open(directory, file, O_RDONLY);
    ssize_t length = fd < 0 ? -1 : read(fd, text, size - 1);
    if (length < 0)
        return false;
    text[length] = '\0';
    return true;
}

uint64_t cgroup_file_number(const char *directory, const char *file, const char *key)
{
    char text[4096];
    if (!cgroup_file_read(directory, file, text, sizeof(text)))
        return 0;
    if (!key)
        return strtoull(text, NULL, 10);
    size_t length = strlen(key);
    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) == 0 && line[length] == ' ')
            return strtoull(line + length, NULL, 10);
    }
    return 0;
}
