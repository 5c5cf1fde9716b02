/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system call filters that the guest puts on each program, in the kernel's form for the guest's
 * own architecture. They are made at build (compile_filters.c) of the list that process mode and
 * the container's profile are made of, policies/seccomp/calls.json: the guest needs no library, and
 * has them before it has heard anything.
 */
#pragma once

#include <stdint.h>

#include "guest/layers/landlock.h"

/* As the kernel's struct sock_filter and struct sock_fprog; musl brings no headers of the kernel.
 */
struct guest_instruction {
    uint16_t code;
    uint8_t jump_true;
    uint8_t jump_false;
    uint32_t value;
};

struct guest_filter {
    unsigned short count;
    const struct guest_instruction *instructions;
};

/* Which calls there are, and what arguments take away from them, by enum landlock_network. */
extern const struct guest_filter guest_list;
extern const struct guest_filter guest_guards[LANDLOCK_NETWORKS];
