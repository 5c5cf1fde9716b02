/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the scores of a session's interpreters: see guest_oom.h. Runs in the guest. */
#include "guest/session/guest_oom.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/oom_order.h"

static bool set(pid_t interpreter, bool is_kept)
{
    struct oom_order order;
    CLEANUP_CLOSE int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (!oom_order_find(proc, &order))
        return false;
    CLEANUP_CLOSE int score = oom_order_open(&order, interpreter);
    return score >= 0 && oom_order_set(score, is_kept ? order.kept : order.others);
}

bool guest_oom_before_copy(pid_t interpreter)
{
    return set(interpreter, true);
}

bool guest_oom_behind_copy(pid_t interpreter)
{
    return set(interpreter, false);
}
