/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A system call that no honest program makes: the kernel holds whoever made it and tells the holder
 * of the filter's listener (seccomp_unotify(2)). Nothing here ever lets a call go on. Runs in pid 1
 * of a sandbox.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct forbidden_call {
    pid_t caller; /* the thread */
    int number;
    uint64_t arguments[6];
};

/* What the listener has to tell; whoever made the call is killed before this returns. false: it is
 * gone already. */
bool forbidden_call_receive(int listener, struct forbidden_call *ret);
