/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locked_memory: what the kernel was told of a block, and what is left of one when it is given
 * back; and of a redaction, whose tables are made of secrets. Single-threaded.
 */
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/locked_memory.h"
#include "redaction/redaction.h"
#include "sanitizers.h"
#include "tap_suite.h"

#define FLAGS_SIZE 512

int __real_munmap(void *address, size_t length);
int __wrap_munmap(void *address, size_t length);
void __real_free(void *pointer);
void __wrap_free(void *pointer);

static const void *watched; /* what is to be given back with nothing in it */
static bool given_back;
static bool was_empty;

static bool is_empty(const void *bytes, size_t length)
{
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < length; i++)
        if (byte[i] != 0)
            return false;
    return true;
}

static void look_at(const void *address, size_t length)
{
    if (watched == NULL || address != watched)
        return;
    given_back = true;
    was_empty = is_empty(address, length);
    watched = NULL;
}

int __wrap_munmap(void *address, size_t length)
{
    look_at(address, length);
    return __real_munmap(address, length);
}

void __wrap_free(void *pointer)
{
    if (watched != NULL && pointer == watched)
        look_at(pointer, malloc_usable_size(pointer));
    __real_free(pointer);
}

/* The line of /proc/self/smaps; "" where the block is none of its own. */
static void read_flags(const void *address, char ret[FLAGS_SIZE])
{
    char line[FLAGS_SIZE];
    char begin[32];
    bool found = false;
    (void)snprintf(begin, sizeof(begin), "%lx-", (unsigned long)(uintptr_t)address);
    ret[0] = '\0';
    FILE *maps = fopen("/proc/self/smaps", "re");
    ck_assert_ptr_nonnull(maps);
    while (fgets(line, sizeof(line), maps) != NULL) {
        if (strchr(line, '-') != NULL && strchr(line, '-') < strchr(line, ' '))
            found = strncmp(line, begin, strlen(begin)) == 0;
        if (found && strncmp(line, "VmFlags:", 8) == 0)
            memcpy(ret, line, sizeof(line));
    }
    (void)fclose(maps);
}

START_TEST(is_locked_and_in_no_dump_and_no_fork)
{
    /* mlock(2) does nothing under AddressSanitizer. */
    static const char *const flags[] = {" dd ", " wf ", UNDER_ADDRESS_SANITIZER ? " wf " : " lo "};
    char found[FLAGS_SIZE];
    struct locked_memory memory;
    ck_assert_int_eq(locked_memory_get(1, &memory), 0);
    ck_assert_uint_ge(memory.capacity, 1);
    ck_assert(is_empty(memory.bytes, memory.capacity));
    read_flags(memory.bytes, found);
    for (size_t i = 0; i < COUNT_OF(flags); i++)
        ck_assert_msg(strstr(found, flags[i]) != NULL, "not%s: %s", flags[i], found);
    memcpy(memory.bytes, "hunter2", 7);
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(is_empty(memory.bytes, memory.capacity) ? 0 : 1);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(memcmp(memory.bytes, "hunter2", 7), 0);
    locked_memory_clear(&memory);
}
END_TEST

/* Ordinary memory has none of it, or the test above says nothing. */
START_TEST(other_memory_is_not)
{
    char found[FLAGS_SIZE];
    void *other =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    ck_assert_ptr_ne(other, MAP_FAILED);
    (void)madvise(other, 4096, MADV_NOHUGEPAGE); /* so that it is no part of a neighbour */
    read_flags(other, found);
    ck_assert_ptr_nonnull(strstr(found, " nh "));
    ck_assert_ptr_null(strstr(found, " lo "));
    ck_assert_ptr_null(strstr(found, " dd "));
    ck_assert_ptr_null(strstr(found, " wf "));
    (void)munmap(other, 4096);
}
END_TEST

START_TEST(is_given_back_empty)
{
    struct locked_memory memory;
    ck_assert_int_eq(locked_memory_get(10000, &memory), 0);
    memset(memory.bytes, 's', memory.capacity);
    watched = memory.bytes;
    locked_memory_clear(&memory);
    ck_assert(given_back && was_empty);
    ck_assert_ptr_null(memory.bytes);
    locked_memory_clear(&memory);
}
END_TEST

#if defined(__x86_64__)
/* Callers' to save, and touched by nothing here but what wipes all of them. */
START_TEST(leaves_nothing_in_registers)
{
    const uint64_t mark = UINT64_C(0x68756e7465723221);
    uint64_t left;
    struct locked_memory memory;
    ck_assert_int_eq(locked_memory_get(1, &memory), 0);
    __asm__ volatile("movq %0, %%xmm13" ::"r"(mark) : "xmm13");
    if (_i == 1)
        locked_memory_clear(&memory);
    __asm__ volatile("movq %%xmm13, %0" : "=r"(left));
    ck_assert_uint_eq(left, _i == 1 ? 0 : mark);
    locked_memory_clear(&memory);
}
END_TEST
#endif

START_TEST(a_redaction_is_given_back_empty)
{
    struct error error;
    struct redaction *redaction = redaction_new();
    ck_assert(redaction_add(redaction, "x", "hunter2", 7, &error));
    watched = redaction;
    redaction_free(redaction);
    ck_assert(given_back && was_empty);
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("locked memory")};
    tcase_add_test(cases[0], is_locked_and_in_no_dump_and_no_fork);
    tcase_add_test(cases[0], other_memory_is_not);
    tcase_add_test(cases[0], is_given_back_empty);
#if defined(__x86_64__)
    tcase_add_loop_test(cases[0], leaves_nothing_in_registers, 0, 2);
#endif
    tcase_add_test(cases[0], a_redaction_is_given_back_empty);
    return run_suite("locked memory", cases, COUNT_OF(cases));
}
