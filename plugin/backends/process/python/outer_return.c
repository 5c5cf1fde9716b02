/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the return of an outer function: see outer_return.h. */
#include "backends/process/python/outer_return.h"

#include <stddef.h>
#include <stdlib.h>
#include <unwind.h>

#include "base/cleanup.h"

struct search {
    uintptr_t function;
    bool entered; /* the frame before was the function's */
    bool found;
    struct outer_return where;
};

#if defined(__x86_64__)
/* DWARF's numbers of rbx, rbp and r12 to r15: "System V Application Binary Interface, AMD64",
 * figure "DWARF Register Number Mapping". */
static const int kept_registers[OUTER_RETURN_REGISTERS] = {3, 6, 12, 13, 14, 15};

/* A processor that keeps a stack of return addresses of its own refuses ours; where it keeps none,
 * the instruction does nothing. */
static bool is_possible(void)
{
    uint64_t shadow_stack = 0;
    __asm__ volatile("rdsspq %0" : "+r"(shadow_stack));
    return shadow_stack == 0;
}

_Noreturn void outer_return_leave(const struct outer_return *where, int value)
{
    __asm__ volatile("movq 16(%0), %%rbx\n\t"
                     "movq 24(%0), %%rbp\n\t"
                     "movq 32(%0), %%r12\n\t"
                     "movq 40(%0), %%r13\n\t"
                     "movq 48(%0), %%r14\n\t"
                     "movq 56(%0), %%r15\n\t"
                     "movq 8(%0), %%rsp\n\t"
                     "notrack jmpq *(%0)"
                     :
                     : "d"(where), "a"(value)
                     : "memory");
    __builtin_unreachable();
}
#elif defined(__aarch64__)
/* x19 to x30: "DWARF for the Arm 64-bit Architecture". */
static const int kept_registers[OUTER_RETURN_REGISTERS] = {19, 20, 21, 22, 23, 24,
                                                           25, 26, 27, 28, 29, 30};

static bool is_possible(void)
{
    return true;
}

_Noreturn void outer_return_leave(const struct outer_return *where, int value)
{
    register const struct outer_return *from __asm__("x9") = where;
    register int64_t result __asm__("x0") = value;
    __asm__ volatile("ldr x10, [x9]\n\t"
                     "ldr x11, [x9, #8]\n\t"
                     "ldp x19, x20, [x9, #16]\n\t"
                     "ldp x21, x22, [x9, #32]\n\t"
                     "ldp x23, x24, [x9, #48]\n\t"
                     "ldp x25, x26, [x9, #64]\n\t"
                     "ldp x27, x28, [x9, #80]\n\t"
                     "ldp x29, x30, [x9, #96]\n\t"
                     "mov sp, x11\n\t"
                     "br x10"
                     :
                     : "r"(from), "r"(result)
                     : "memory");
    __builtin_unreachable();
}
#else
static const int kept_registers[OUTER_RETURN_REGISTERS] = {0};

static bool is_possible(void)
{
    return false;
}

_Noreturn void outer_return_leave(const struct outer_return *where, int value)
{
    (void)where;
    (void)value;
    abort();
}
#endif

/* Called for each frame from the innermost on. What a frame's context has is as it will be when its
 * call returns, the stack too. */
static _Unwind_Reason_Code look(struct _Unwind_Context *context, void *data)
{
    struct search *search = data;
    if (!search->entered) {
        search->entered = _Unwind_GetRegionStart(context) == search->function;
        return _URC_NO_REASON;
    }
    search->where.address = _Unwind_GetIP(context);
    search->where.stack = _Unwind_GetCFA(context);
    for (size_t i = 0; i < COUNT_OF(kept_registers); i++)
        search->where.kept[i] = _Unwind_GetGR(context, kept_registers[i]);
    search->found = true;
    return _URC_END_OF_STACK;
}

bool outer_return_find(void (*function)(void), struct outer_return *ret)
{
    struct search search = {.function = (uintptr_t)function};
    if (!is_possible())
        return false;
    (void)_Unwind_Backtrace(look, &search);
    if (search.found)
        *ret = search.where;
    return search.found;
}
