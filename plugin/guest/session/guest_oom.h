/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel ends first where the memory of a session runs out (base/oom_order.h): processes
 * of its cell, ahead of its checkpoints and of the guest. An interpreter has the higher score but
 * for the time in which it is copied, when a copy gets the lower one. Runs in the guest.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Each is false where the score could not be set: no /proc, no higher score, or a program that has
 * made itself unreadable. */
bool guest_oom_before_copy(pid_t interpreter);
bool guest_oom_behind_copy(pid_t interpreter);
