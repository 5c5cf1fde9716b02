/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The allocator of a backend for tests: glibc's own behind functions that take its place for every
 * library too, and that fail where scarce_memory.h says. Linked with the product's objects; none of
 * their code differs. Runs in each process of the backend; async-signal-safe.
 */
#include "scarce_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *pointer, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *pointer);

static struct scarce_memory *memory; /* NULL until main() is near */

/* Before main() closes what it does not know; the mapping goes wherever a fork does. */
__attribute__((constructor)) static void find_memory(void)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - sizeof(SCARCE_MEMORY_FILE));
    if (length <= 0)
        _exit(1);
    memcpy(path + length, SCARCE_MEMORY_FILE, sizeof(SCARCE_MEMORY_FILE));
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *mapped = fd < 0 ? MAP_FAILED
                          : mmap(NULL, sizeof(*memory), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED)
        _exit(1);
    (void)close(fd);
    memory = mapped;
}

/* The guardian allocates nothing. Whoever removes a run's directory is another child of the
 * supervisor. */
static enum memory_role own_role_without_namespaces(pid_t pid)
{
    int none = 0;
    if (getppid() != memory->supervisor)
        return MEMORY_PAYLOAD;
    (void)atomic_compare_exchange_strong(&memory->init, &none, pid);
    return pid == memory->init ? MEMORY_INIT : MEMORY_SUBREAPER;
}

/* An init and its payload are 1 and 2 of their own namespace. */
static enum memory_role own_role(void)
{
    pid_t pid = getpid();
    if (memory->unprivileged && memory->supervisor != 0 && pid != memory->supervisor)
        return own_role_without_namespaces(pid);
    if (pid <= 2)
        return pid == 1 ? MEMORY_INIT : MEMORY_PAYLOAD;
    if (memory->supervisor == 0)
        return MEMORY_START;
    return pid == memory->supervisor ? MEMORY_SUPERVISOR : MEMORY_SUBREAPER;
}

static void count_block(long change)
{
    if (memory && own_role() == MEMORY_SUPERVISOR)
        memory->blocks += change;
}

static bool fails(void)
{
    if (!memory)
        return false;
    enum memory_role role = own_role();
    unsigned int number = ++memory->asked[role];
    if (memory->index == 0 || role != memory->role || number < memory->index ||
        (number > memory->index && !memory->lasting))
        return false;
    memory->failed++;
    errno = ENOMEM;
    return true;
}

static void *counted(void *block)
{
    if (block)
        count_block(1);
    return block;
}

void *malloc(size_t size)
{
    return fails() ? NULL : counted(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : counted(__libc_calloc(count, size));
}

void *realloc(void *pointer, size_t size)
{
    if (fails())
        return NULL;
    void *block = __libc_realloc(pointer, size);
    return pointer ? block : counted(block);
}

void *memalign(size_t alignment, size_t size)
{
    return fails() ? NULL : counted(__libc_memalign(alignment, size));
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

int posix_memalign(void **ret, size_t alignment, size_t size)
{
    void *block = memalign(alignment, size);
    if (!block)
        return ENOMEM;
    *ret = block;
    return 0;
}

void free(void *pointer)
{
    if (pointer)
        count_block(-1);
    __libc_free(pointer);
}
