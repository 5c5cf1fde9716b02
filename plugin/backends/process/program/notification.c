/* SPDX-License-Identifier: Apache-2.0 */
/* The listener of a filter: see notification.h. */
#include "backends/process/program/notification.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

/* The kernel's structs may be longer than those that this was built with, and want zeroes. */
static void *allocate(size_t kernel_size, size_t own_size)
{
    return calloc(1, kernel_size > own_size ? kernel_size : own_size);
}

struct seccomp_notif *notification_receive(int listener)
{
    struct seccomp_notif_sizes sizes;
    if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0)
        return NULL;
    struct seccomp_notif *call = allocate(sizes.seccomp_notif, sizeof(*call));
    if (call && ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, call) == 0)
        return call;
    free(call);
    return NULL;
}

static bool answer_with(int listener, uint64_t call, int64_t value, int error)
{
    struct seccomp_notif_sizes sizes;
    if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0)
        return false;
    CLEANUP_FREE struct seccomp_notif_resp *answer =
        allocate(sizes.seccomp_notif_resp, sizeof(*answer));
    if (!answer)
        return false;
    answer->id = call;
    answer->val = value;
    answer->error = -error;
    return ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, answer) == 0;
}

bool notification_answer(int listener, uint64_t call, int64_t value)
{
    return answer_with(listener, call, value, 0);
}

bool notification_answer_error(int listener, uint64_t call, int error)
{
    return answer_with(listener, call, 0, error);
}

bool notification_is_valid(int listener, uint64_t call)
{
    return ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &call) == 0;
}
