/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order in which the kernel ends the processes of a control group whose memory runs out: the
 * one with the highest oom_score_adj first (proc(5)), because a difference of 1000 counts as much
 * as all the memory of the group. A process inherits the score of its parent. Nobody needs a right
 * to raise one. To lower it again to what a privileged process has set last takes none either. No
 * state; any process.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct oom_order {
    int proc;   /* a /proc with these processes, the owner's; -1: no score can be set */
    int kept;   /* the score of what is to be left: this process's own */
    int others; /* of all else, higher */
};

/* false: there is no score above that of this process, or it is not known. proc is not read. */
bool oom_order_find(int proc, struct oom_order *ret);

/* What sets the score of that process, or -1 with errno: it is not dumpable, or of another user, or
 * proc is not to be written to. Of one that is not dumpable any more it can be set all the same. */
int oom_order_open(const struct oom_order *order, pid_t pid);
bool oom_order_set(int fd, int score);
