/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program of ours that handles a stranger's bytes gives up by itself, as far as all of them
 * do. Linked into programs that use libseccomp; at their start, single-threaded.
 */
#pragma once

#include <seccomp.h>
#include <stddef.h>

struct allowed_calls {
    const int *calls; /* of libseccomp; what the architecture lacks is passed over */
    size_t count;
};

/* All capabilities. 0, or -1 with errno. */
int give_up_capabilities(void);

/* All system calls but these, which fail with EPERM, and of another architecture the process. more
 * adds rules with conditions: 0, or a negative errno. 0, or -1 with errno. */
int give_up_calls(const struct allowed_calls *lists, size_t count,
                  int (*more)(scmp_filter_ctx filter));
