/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the reading of /proc: see process_facts.h. */
#include "process_facts.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

size_t read_text(pid_t pid, const char *file, char *text, size_t size)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t length = 0;
    ssize_t count = 0;
    while (fd >= 0 && length + 1 < size && (count = read(fd, text + length, size - 1 - length)) > 0)
        length += (size_t)count;
    text[length] = '\0';
    return length;
}

pid_t parent_of(pid_t pid)
{
    char text[512];
    int parent = 0;
    const char *end = read_text(pid, "stat", text, sizeof(text)) ? strrchr(text, ')') : NULL;
    return end && sscanf(end + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

char state_of(pid_t pid)
{
    char text[512];
    const char *end = pid && read_text(pid, "stat", text, sizeof(text)) ? strrchr(text, ')') : NULL;
    return end && end[1] ? end[2] : '\0';
}
