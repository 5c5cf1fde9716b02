/* SPDX-License-Identifier: Apache-2.0 */
/* Reads secret files and wipes what it has read. On the thread inside tool_invoke(). */
#include "host/secret_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/descriptor_io.h"

/* A page of its own kind: kept out of swap where the limits allow it, and of core dumps. */
struct secret_memory {
    char *bytes;
    size_t size;
};

static void secret_memory_wipe(struct secret_memory *memory)
{
    if (!memory->bytes)
        return;
    explicit_bzero(memory->bytes, memory->size);
    (void)munmap(memory->bytes, memory->size);
}

static bool secret_memory_make(struct secret_memory *ret, struct failure *failure)
{
    void *bytes = mmap(NULL, SECRET_FILE_LIMIT + 4096, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED)
        return failure_out_of_memory(failure);
    ret->bytes = bytes;
    ret->size = SECRET_FILE_LIMIT + 4096;
    (void)mlock(bytes, ret->size);
    (void)madvise(bytes, ret->size, MADV_DONTDUMP);
    return true;
}

static int open_regular(const char *path, struct failure *failure)
{
    /* Non-blocking, so that a FIFO in the file's place cannot hang the call. */
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) < 0) {
        (void)failure_set_errno(failure, "secret_unavailable", errno, "secret file %s", path);
        return -1;
    }
    if (!S_ISREG(status.st_mode)) {
        (void)failure_set(failure, "secret_unavailable", "secret file %s: not a regular file",
                          path);
        return -1;
    }
    return TAKE_FD(fd);
}

bool secret_file_read(const char *path, void *buffer, size_t capacity, size_t *ret_length,
                      struct failure *failure)
{
    CLEANUP_CLOSE int fd = open_regular(path, failure);
    if (fd < 0)
        return false;
    CLEANUP(secret_memory_wipe) struct secret_memory memory = {0};
    if (!secret_memory_make(&memory, failure))
        return false;
    ssize_t got = read_up_to(fd, memory.bytes, memory.size);
    if (got < 0)
        return failure_set_errno(failure, "secret_unavailable", errno, "secret file %s", path);
    size_t length = (size_t)got;
    if (length > 0 && memory.bytes[length - 1] == '\n')
        length--;
    if (length > SECRET_FILE_LIMIT)
        return failure_set(failure, "secret_unavailable", "secret file %s: more than %u bytes",
                           path, SECRET_FILE_LIMIT);
    if (length <= capacity && length > 0)
        memcpy(buffer, memory.bytes, length);
    *ret_length = length;
    return true;
}
