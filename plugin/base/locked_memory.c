/* SPDX-License-Identifier: Apache-2.0 */
/* Mappings for secrets: mmap(2), mlock(2), madvise(2). Runs in the gateway, on the thread inside
 * tool_invoke(). */
#include "base/locked_memory.h"

#include <string.h>
#include <sys/mman.h>

#define PAGE_BYTES 4096

int locked_memory_get(size_t capacity, struct locked_memory *ret)
{
    capacity = (capacity + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    void *bytes = mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED)
        return -1;
    (void)mlock(bytes, capacity);
    (void)madvise(bytes, capacity, MADV_DONTDUMP);
    (void)madvise(bytes, capacity, MADV_WIPEONFORK);
    *ret = (struct locked_memory){.bytes = bytes, .capacity = capacity};
    return 0;
}

void locked_memory_clear(struct locked_memory *memory)
{
    if (!memory->bytes)
        return;
    explicit_bzero(memory->bytes, memory->capacity);
    (void)munmap(memory->bytes, memory->capacity);
    *memory = (struct locked_memory){0};
    vector_registers_wipe();
}
