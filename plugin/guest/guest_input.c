/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the reading of the run's message: see guest_input.h. Runs in the guest. */
#include "guest/guest_input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define CHUNK 65536

bool input_await(int other)
{
    struct pollfd ready[] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = other}};
    while (poll(ready, COUNT_OF(ready), -1) < 0 && errno == EINTR)
        ;
    return ready[0].revents != 0;
}

static size_t read_some(void *bytes, size_t length)
{
    ssize_t count;
    do
        count = read(STDIN_FILENO, bytes, length);
    while (count < 0 && errno == EINTR);
    if (count <= 0)
        _exit(1);
    return (size_t)count;
}

static void read_whole(unsigned char *bytes, size_t length)
{
    for (size_t taken = 0; taken < length;)
        taken += read_some(bytes + taken, length - taken);
}

static uint64_t read_number(size_t width)
{
    unsigned char bytes[sizeof(uint64_t)] = {0};
    read_whole(bytes, width);
    struct wire_reader reader = {.bytes = bytes, .length = sizeof(bytes)};
    return wire_get_u64(&reader);
}

bool input_take_head(struct guest_run *ret)
{
    size_t length = (size_t)read_number(sizeof(uint32_t));
    CLEANUP_FREE unsigned char *head = length <= GUEST_HEAD_LIMIT ? malloc(length + 1) : NULL;
    if (!head)
        return false;
    read_whole(head, length);
    bool good = guest_run_read(head, length, ret);
    explicit_bzero(head, length);
    return good;
}

/* Takes a length and so many bytes. false with errno where the file does not take them all. */
static bool copy_to(int fd)
{
    static unsigned char chunk[CHUNK];
    for (uint64_t left = read_number(sizeof(uint64_t)); left > 0;) {
        size_t count = read_some(chunk, left < CHUNK ? (size_t)left : CHUNK);
        left -= count;
        for (size_t written = 0; written < count;) {
            ssize_t more = write(fd, chunk + written, count - written);
            if (more < 0 && errno != EINTR)
                return false;
            written += more > 0 ? (size_t)more : 0;
        }
    }
    return true;
}

/* Those of its directories that are not there yet. */
static bool make_directories(const char *path, mode_t mode)
{
    CLEANUP_FREE char *part = strdup(path);
    if (!part)
        return false;
    for (char *slash = part; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        if (mkdir(part, mode) < 0 && errno != EEXIST)
            return false;
        *slash = '/';
    }
    return true;
}

static const char *take_file(const char *path, bool private)
{
    static char problem[256];
    if (!make_directories(path, private ? 0700 : 0755)) {
        (void)snprintf(problem, sizeof(problem), "make the directory of %.100s: %s", path,
                       strerror(errno));
        return problem;
    }
    CLEANUP_CLOSE int fd =
        open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, private ? 0400 : 0644);
    if (fd >= 0 && copy_to(fd))
        return NULL;
    (void)snprintf(problem, sizeof(problem), "write the file %.100s: %s", path, strerror(errno));
    return problem;
}

const char *input_take_files(const struct guest_run *run)
{
    size_t count = 0;
    const char *problem = NULL;
    while (run->paths[count])
        count++;
    for (size_t i = 0; i < count && !problem; i++)
        problem = take_file(run->paths[i], count - i <= run->private_file_count);
    return problem;
}

int input_make_file(void)
{
    return memfd_create("stdin", MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

bool input_take_stdin(int fd)
{
    return copy_to(fd);
}

bool input_seal_file(int fd)
{
    return lseek(fd, 0, SEEK_SET) == 0 &&
           fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) == 0;
}
