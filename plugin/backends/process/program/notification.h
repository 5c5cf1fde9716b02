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

/* Answers a call with an error; 0: with success. */
bool notification_answer_error(int listener, uint64_t call, int error);

/* Does its caller still wait for an answer? Then what was known of the caller is still true. */
bool notification_is_valid(int listener, uint64_t call);

/* attribute_calls.c: the calls that change a file's mode, times or owner, in the blueprint without
 * namespaces. There Landlock keeps a program from the gateway's files, whose user it has, but knows
 * none of these calls. So the filter holds them (the group "attributes of files" of
 * policies/seccomp/calls.json), and the init makes them itself, for what is within the run's own
 * directory. The caller is never let go on with its own arguments, which it could change meanwhile.
 *
 * Answers the call, if it is one of these; home: the run's directory, with O_PATH. A set-user-ID or
 * set-group-ID bit is never set, and an owner stays what it is. false: it is another call, which
 * nobody has answered. */
bool attribute_call_answer(int listener, const struct seccomp_notif *call, int home);
