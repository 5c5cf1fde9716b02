/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system call filters of process mode as they go from the supervisor, which makes them
 * (seccomp_filter.h), to the payload, which loads them. The instructions live as long as the
 * process that made or received them.
 */
#pragma once

#include <linux/filter.h>

struct seccomp_program {
    struct sock_filter *instructions;
    unsigned short count;
};

enum seccomp_guard {
    SECCOMP_GUARD_WITHOUT_NETWORK,
    SECCOMP_GUARD_NETWORK,
    SECCOMP_GUARD_ENDPOINTS,
    SECCOMP_GUARD_UNPRIVILEGED,
    SECCOMP_GUARD_COUNT,
};

/* A run has one of the lists and one of the guards. */
struct seccomp_filters {
    struct seccomp_program list;
    /* In the unprivileged blueprint: the init makes the calls that change a file's attributes
     * (program/attribute_calls.c). */
    struct seccomp_program list_with_attributes;
    struct seccomp_program guard[SECCOMP_GUARD_COUNT];
};
