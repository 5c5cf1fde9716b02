/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the loading of the filters, the last layer that a payload puts on itself, and the way of
 * their listener to the init. */
#include <errno.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backends/process/messages/seccomp_program.h"
#include "backends/process/sandbox/sandbox.h"
#include "base/cleanup.h"

/* Of a newer header: once an init has taken a call, no signal interrupts it any more; and the init
 * that a caller waits for runs in its place. */
#define WAIT_KILLABLE_RECV (1U << 5)
#define NOTIF_SET_FLAGS    SECCOMP_IOW(4, __u64)
#define NOTIF_SYNC_WAKE_UP 1UL

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

static enum seccomp_guard guard_of(const struct sandbox_template *template)
{
    if (template->isolation == RUN_ISOLATION_UNPRIVILEGED)
        return SECCOMP_GUARD_UNPRIVILEGED;
    if (template->endpoints)
        return SECCOMP_GUARD_ENDPOINTS;
    return template->network ? SECCOMP_GUARD_NETWORK : SECCOMP_GUARD_WITHOUT_NETWORK;
}

int restrict_system_calls(struct sandbox *sandbox)
{
    const struct seccomp_filters *filters = sandbox->filters;
    bool is_unprivileged = sandbox->template->isolation == RUN_ISOLATION_UNPRIVILEGED;
    const struct seccomp_program *list =
        is_unprivileged ? &filters->list_with_attributes : &filters->list;
    const struct seccomp_program *guard = &filters->guard[guard_of(sandbox->template)];
    if (load_filter(guard, 0) < 0)
        return -1;
    sandbox->listener = load_filter(list, SECCOMP_FILTER_FLAG_NEW_LISTENER |
                                              (is_unprivileged ? WAIT_KILLABLE_RECV : 0));
    if (sandbox->listener < 0)
        return -1;
    if (is_unprivileged)
        (void)ioctl(sandbox->listener, NOTIF_SET_FLAGS, NOTIF_SYNC_WAKE_UP);
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
