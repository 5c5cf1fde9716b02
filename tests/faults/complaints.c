/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the complaints of a test: see complaints.h. */
#include "complaints.h"

#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static struct fault fault;
static long met = -1;
static unsigned int count;
static bool is_silent;

const char *fault_name(const struct fault *named)
{
    static char name[64];
    if (named->only) {
        CLEANUP_FREE char *call =
            seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, (int)named->only);
        (void)snprintf(name, sizeof(name), "the error that fits %s", call ? call : "it");
        return name;
    }
    if (named->kill)
        return "SIGKILL";
    return named->error ? strerror(named->error) : "the error that fits";
}

void complaints_are_of(const struct fault *of, long of_call)
{
    fault = *of;
    met = of_call;
}

void complain(const char *what, const char *more)
{
    CLEANUP_FREE char *name =
        met < 0 ? NULL : seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, (int)met);
    if (!is_silent)
        (void)printf("# %s, call %u (%s), %s: %s%s%s\n", role_name(fault.role), fault.index,
                     name ? name : "no fault", fault_name(&fault), what, more[0] ? ": " : "", more);
    count++;
}

unsigned int complaints_take(void)
{
    unsigned int taken = count;
    count = 0;
    return taken;
}

void complaints_silence(bool silent)
{
    is_silent = silent;
}
