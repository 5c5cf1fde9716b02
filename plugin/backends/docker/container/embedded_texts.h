/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts that are embedded at build (scripts/generate/embed-text), each with a NUL behind it:
 *   container.json, the constant part of a container's configuration
 *   the seccomp profiles without and with a network, in the engine's own format, compiled from
 *   policies/seccomp/calls.json (scripts/generate/compile-seccomp-list)
 */
#pragma once

#include <stddef.h>

extern const char container_text[];
extern const size_t container_length;
extern const char seccomp_profile_text[];
extern const size_t seccomp_profile_length;
extern const char seccomp_profile_with_network_text[];
extern const size_t seccomp_profile_with_network_length;
