/* SPDX-License-Identifier: Apache-2.0 */
/* The listener of a filter: see notification.h. */
#include "backends/process/program/notification.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

#define ANSWER_ROOM  256
#define ANSWER_TRIES 8

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

/* Without an answer the caller would wait until the end of its run: nothing is asked for here that
 * may not be had, and a send that fails is tried again as long as somebody waits. */
static bool answer_with(int listener, uint64_t call, int64_t value, int error)
{
    union {
        struct seccomp_notif_resp answer;
        char room[ANSWER_ROOM];
    } sent = {.room = {0}};
    sent.answer = (struct seccomp_notif_resp){.id = call, .val = value, .error = -error};
    for (int i = 0; i < ANSWER_TRIES; i++)
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &sent) == 0)
            return true;
        else if (errno == ENOENT || errno == EINPROGRESS)
            return false;
    return false;
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
