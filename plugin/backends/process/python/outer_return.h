/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The return of a function that is under way further out on this thread's stack, leaving all that
 * it has called where it is, as pthread_exit(3) leaves it. Which frames there are is read from the
 * call frame information that every binary of the platform's has (the psABI's .eh_frame). Runs in
 * the thread that is to return.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)
#define OUTER_RETURN_REGISTERS 6 /* that a function keeps for its caller, but the stack's */
#elif defined(__aarch64__)
#define OUTER_RETURN_REGISTERS 12
#else
#define OUTER_RETURN_REGISTERS 1
#endif

/* Where the function's caller goes on. As long as the function is under way. */
struct outer_return {
    uintptr_t address;
    uintptr_t stack;
    uintptr_t kept[OUTER_RETURN_REGISTERS];
};

/* Of the innermost call of the function that begins there. false: there is none to be seen, or no
 * such return is possible on this processor. */
bool outer_return_find(void (*function)(void), struct outer_return *ret);

/* As if it had returned that. */
_Noreturn void outer_return_leave(const struct outer_return *where, int value);
