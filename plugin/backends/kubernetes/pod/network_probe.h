/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does the cluster enforce the policy that no run reaches anything? Only a try from inside of a pod
 * tells. A guest that tries (guest/layers/guest_network.c) writes one line an attempt, and this
 * reads them. Pure code. Runs in the kubernetes backend.
 *
 * A line is "TARGET OUTCOME\n": TARGET is GUEST_TRY_CONTROL (a listener of the guest's own on
 * loopback, by which it proves that it can connect at all) or another GUEST_TRY_; OUTCOME is
 * "connected", or the error's number, or "timeout".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "backends/kubernetes/messages/kubernetes_messages.h"

/* The verdict over a whole report on those targets (each must be in it), and the target that was
 * reached, or what is wrong with the report, in why. */
enum network_proof network_probe_judge(const char *report, size_t length,
                                       const char *const *targets, size_t count, char *why,
                                       size_t size);
