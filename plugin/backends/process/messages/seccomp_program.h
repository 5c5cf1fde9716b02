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

struct seccomp_filters {
    struct seccomp_program list;
    struct seccomp_program guard[2]; /* by run_description.network */
};
