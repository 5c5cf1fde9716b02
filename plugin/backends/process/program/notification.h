/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The listener of a program's filter (seccomp_unotify(2)). The kernel holds the process that has
 * made a call of the list until it is answered. Runs in inits, single-threaded.
 */
#pragma once

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>

/* Takes the next call. NULL: there is none, or no memory. The caller frees it. */
struct seccomp_notif *notification_receive(int listener);

/* Answers a call with a value. false: nobody waits for it any more. */
bool notification_answer(int listener, uint64_t call, int64_t value);

/* Does its caller still wait for an answer? Then what was known of the caller is still true. */
bool notification_is_valid(int listener, uint64_t call);
