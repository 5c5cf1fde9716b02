/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the step from a rule to libseccomp: see seccomp_rules.h. Runs where seccomp_filter.c does.
 */
#include "backends/process/supervisor/filter/seccomp_rules.h"

int seccomp_rule_apply(scmp_filter_ctx context, const struct seccomp_rule *rule)
{
    int number = seccomp_syscall_resolve_name(rule->call);
    if (number == __NR_SCMP_ERROR)
        number = rule->number;
    if (number < 0)
        return 0;
    return seccomp_rule_add_array(context, rule->action, number, rule->test_count, rule->tests);
}
