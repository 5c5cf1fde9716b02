/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In a coverage build only: puts the counters of the process backend into memory that all processes
 * of a supervisor share. Inits and payloads end by _exit() or execve() in a view without the build
 * directory, so that they could not write theirs; the supervisor does it for them when it ends.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE UINT64_C(4096)

extern char __bss_start[];
extern char _end[];

__attribute__((constructor)) static void share_counters(void)
{
    uintptr_t begin = (uintptr_t)__bss_start & ~(PAGE - 1);
    size_t size = (((uintptr_t)_end + PAGE - 1) & ~(PAGE - 1)) - begin;
    void *shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        abort();
    memcpy(shared, (void *)begin, size);
    if (mremap(shared, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)begin) == MAP_FAILED)
        abort();
}
