/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/common/self_confinement.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

static void release_filter(scmp_filter_ctx *filter)
{
    if (*filter)
        seccomp_release(*filter);
}

int give_up_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[2] = {{0}};
    return (int)syscall(SYS_capset, &header, none);
}

static int allow(scmp_filter_ctx filter, const struct allowed_calls *list)
{
    int result = 0;
    for (size_t i = 0; result == 0 && i < list->count; i++)
        if (list->calls[i] >= 0)
            result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, list->calls[i], 0);
    return result;
}

int give_up_calls(const struct allowed_calls *lists, size_t count,
                  int (*more)(scmp_filter_ctx filter))
{
    CLEANUP(release_filter) scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    int result =
        filter ? seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) : -ENOMEM;
    for (size_t i = 0; result == 0 && i < count; i++)
        result = allow(filter, &lists[i]);
    if (result == 0)
        result = more(filter);
    if (result == 0)
        result = seccomp_load(filter);
    if (result == 0)
        return 0;
    errno = -result;
    return -1;
}
