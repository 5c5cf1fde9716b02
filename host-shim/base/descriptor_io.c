/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded reads from descriptors and files. Any thread. */
#include "base/descriptor_io.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"

ssize_t read_up_to(int fd, char *buffer, size_t capacity)
{
    size_t length = 0;
    while (length < capacity) {
        ssize_t got = read(fd, buffer + length, capacity - length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        length += (size_t)got;
    }
    return (ssize_t)length;
}

bool read_bounded_file(const char *path, size_t limit, char **ret_text, size_t *ret_length,
                       struct failure *failure)
{
    bool from_stdin = strcmp(path, "-") == 0;
    const char *name = from_stdin ? "standard input" : path;
    CLEANUP_CLOSE int fd = from_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                                      : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return failure_set_errno(failure, "unreadable_file", errno, "%s", name);
    CLEANUP_FREE char *text = malloc(limit + 2);
    if (!text)
        return failure_out_of_memory(failure);
    /* One byte more than the limit, so that "too large" is seen without a stat(). */
    ssize_t length = read_up_to(fd, text, limit + 1);
    if (length < 0)
        return failure_set_errno(failure, "unreadable_file", errno, "%s", name);
    if ((size_t)length > limit)
        return failure_set(failure, "unreadable_file", "%s: more than %zu bytes", name, limit);
    text[length] = '\0';
    *ret_text = TAKE_POINTER(text);
    *ret_length = (size_t)length;
    return true;
}
