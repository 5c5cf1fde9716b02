/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for secrets: locked, left out of core dumps and of forks, wiped before it is released.
 * Each block is a mapping of its own. Any thread.
 */
#pragma once

#include <stddef.h>

struct locked_memory {
    unsigned char *bytes; /* zeroed; NULL: none */
    size_t capacity;      /* a whole number of pages */
};

/* At least capacity bytes, more than 0; -1 with errno when there are none. Locking is best effort:
 * where RLIMIT_MEMLOCK is small, the memory is there and not locked. */
int locked_memory_get(size_t capacity, struct locked_memory *ret);
/* Wipes it and the traces of copying in registers, and unmaps; an empty one is fine. */
void locked_memory_clear(struct locked_memory *memory);

/* Zeroes the vector registers of this thread that a function may use: the C library copies and
 * compares through them, and the bytes stay there and are in every core dump. Other processors than
 * x86-64 and AArch64 are left as they are. */
void vector_registers_wipe(void);
