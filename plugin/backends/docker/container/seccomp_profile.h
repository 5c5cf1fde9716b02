/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A container's seccomp profile in the engine's own form, compiled at build from
 * policies/seccomp/calls.json (scripts/compile-seccomp-list).
 */
#pragma once

#include <stddef.h>

extern const char seccomp_profile_text[]; /* of runs without a network */
extern const size_t seccomp_profile_length;
extern const char seccomp_profile_with_network_text[];
extern const size_t seccomp_profile_with_network_length;
