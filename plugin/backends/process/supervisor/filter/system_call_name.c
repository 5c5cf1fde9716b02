/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the look-up: see system_call_name.h. */
#include "backends/process/supervisor/filter/system_call_name.h"

#include <seccomp.h>
#include <stdio.h>

#include "base/cleanup.h"

void system_call_name(int number, char *ret, size_t size)
{
    CLEANUP_FREE char *known = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
    if (known)
        (void)snprintf(ret, size, "%s", known);
    else
        (void)snprintf(ret, size, "number %d", number);
}
