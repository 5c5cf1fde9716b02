/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the reading of a filter's listener: see forbidden_call.h. Runs in pid 1 of a sandbox. */
#include "backends/process/program/forbidden_call.h"

#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

/* The kernel's struct may be longer than the one this was built with, and wants zeroes. */
static struct seccomp_notif *new_notification(void)
{
    struct seccomp_notif_sizes sizes;
    if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0)
        return NULL;
    size_t size = sizes.seccomp_notif;
    return calloc(1, size > sizeof(struct seccomp_notif) ? size : sizeof(struct seccomp_notif));
}

bool forbidden_call_receive(int listener, struct forbidden_call *ret)
{
    CLEANUP_FREE struct seccomp_notif *notification = new_notification();
    if (!notification || ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, notification) < 0)
        return false;
    /* It must not see the call fail, as it would once the listener is closed, nor go on in a
     * handler of a signal meanwhile. */
    (void)kill((pid_t)notification->pid, SIGKILL);
    *ret = (struct forbidden_call){
        .caller = (pid_t)notification->pid,
        .number = notification->data.nr,
    };
    for (size_t i = 0; i < COUNT_OF(ret->arguments); i++)
        ret->arguments[i] = notification->data.args[i];
    return true;
}
