/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the loading of the filters, the last layer that a payload puts on itself, and the way of
 * their listener to the init. */
#include <errno.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backends/process/messages/seccomp_program.h"
#include "backends/process/sandbox/sandbox.h"
#include "base/cleanup.h"

/* flags: SECCOMP_FILTER_FLAG_*; 0, or the listener's descriptor, or -1 with errno. */
static int load_filter(const struct seccomp_program *program, unsigned int flags)
{
    struct sock_fprog loaded = {.len = program->count, .filter = program->instructions};
    if (program->count == 0) {
        errno = ENOTSUP;
        return -1;
    }
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &loaded);
}

int restrict_system_calls(struct sandbox *sandbox)
{
    const struct seccomp_program *list = &sandbox->filters->list;
    const struct seccomp_program *guard = &sandbox->filters->guard[sandbox->template->network];
    if (load_filter(guard, 0) < 0)
        return -1;
    sandbox->listener = load_filter(list, SECCOMP_FILTER_FLAG_NEW_LISTENER);
    if (sandbox->listener < 0)
        return -1;
    sandbox->isolation.seccomp_instructions = (uint32_t)list->count + guard->count;
    return 0;
}

/* Now, as the run's limits may be on soon: the kernel refuses to pass a descriptor (ETOOMANYREFS)
 * while the user has more of them in flight than RLIMIT_NOFILE of the sender, and this user may be
 * a busy gateway's. */
int hand_over_listener(struct sandbox *sandbox)
{
    const struct report report = {.kind = REPORT_FILTERED};
    CLEANUP_CLOSE int listener = TAKE_FD(sandbox->listener);
    return report_send_with(sandbox->report, &report, listener) ? 0 : -1;
}
