/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocations that fail where a test says so, for programs that are linked with --wrap of malloc,
 * calloc, realloc, reallocarray, strdup and strndup. Single-threaded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *pointer, size_t size);
void *__real_reallocarray(void *pointer, size_t count, size_t size);
char *__real_strdup(const char *string);
char *__real_strndup(const char *string, size_t length);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *pointer, size_t size);
void *__wrap_reallocarray(void *pointer, size_t count, size_t size);
char *__wrap_strdup(const char *string);
char *__wrap_strndup(const char *string, size_t length);

static long memory_left = -1; /* allocations until the one that fails; -1: none does */

static bool memory_fails(void)
{
    return memory_left >= 0 && memory_left-- == 0;
}

/* Until the block ends, for what the test itself does in between: Check allocates too, and is
 * linked into the program. */
#define PAUSE_FAILING_MEMORY \
    CLEANUP(memory_resume) __attribute__((unused)) long memory_left_before = memory_pause()

static inline long memory_pause(void)
{
    long left = memory_left;
    memory_left = -1;
    return left;
}

static inline void memory_resume(const long *left)
{
    memory_left = *left;
}

void *__wrap_malloc(size_t size)
{
    return memory_fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return memory_fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *pointer, size_t size)
{
    return memory_fails() ? NULL : __real_realloc(pointer, size);
}

void *__wrap_reallocarray(void *pointer, size_t count, size_t size)
{
    return memory_fails() ? NULL : __real_reallocarray(pointer, count, size);
}

char *__wrap_strdup(const char *string)
{
    return memory_fails() ? NULL : __real_strdup(string);
}

char *__wrap_strndup(const char *string, size_t length)
{
    return memory_fails() ? NULL : __real_strndup(string, length);
}
