/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the steps between our names of system calls and libseccomp: see seccomp_filter.h. */
#include "backends/process/supervisor/filter/seccomp_filter.h"

#include <stdio.h>

#include "base/cleanup.h"

int seccomp_rule_apply(scmp_filter_ctx context, const struct seccomp_rule *rule)
{
    int number = seccomp_syscall_resolve_name(rule->call);
    if (number == __NR_SCMP_ERROR)
        number = rule->number;
    if (number < 0)
        return 0;
    return seccomp_rule_add_array(context, rule->action, number, rule->test_count, rule->tests);
}

void system_call_name(int number, char *ret, size_t size)
{
    CLEANUP_FREE char *known = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
    if (known)
        (void)snprintf(ret, size, "%s", known);
    else
        (void)snprintf(ret, size, "number %d", number);
}
