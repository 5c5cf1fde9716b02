/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the soft limit on descriptors: see descriptor_limit.h. */
#include "backends/common/descriptor_limit.h"

#include <sys/resource.h>

#define DESCRIPTORS 4096

static rlim_t original; /* 0: not raised */

void descriptor_limit_raise(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= DESCRIPTORS)
        return;
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max < DESCRIPTORS ? limit.rlim_max : DESCRIPTORS;
    if (setrlimit(RLIMIT_NOFILE, &limit) == 0)
        original = before;
}

int descriptor_limit_restore(void)
{
    struct rlimit limit;
    if (original == 0)
        return 0;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return -1;
    limit.rlim_cur = original;
    return setrlimit(RLIMIT_NOFILE, &limit);
}
