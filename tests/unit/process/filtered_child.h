/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child behind the filters of process mode without namespaces, whose held calls the test answers
 * as an init does; or the same child without them, as the control. Single-threaded.
 */
#pragma once

#include <linux/seccomp.h>
#include <stdbool.h>

#define ENDED_BY_SIGNAL 255

struct filtered_child {
    int home;      /* for attribute_call_answer() */
    bool hidden;   /* it is not dumpable, before the filters */
    bool filtered; /* false: the control */
    void (*before_answer)(const struct seccomp_notif *call); /* NULL: nothing */
    int other_call; /* its number, where one was held that no answer is for; the caller was killed
                     */
};

/* What attempt() returns in a child with that working directory: 0 or an error number. */
int filtered_child_run(struct filtered_child *child, int (*attempt)(void));
