/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The container's seccomp profile in the engine's own form, made of the same list that process mode
 * uses (policies/seccomp/process.json) and of docker.json beside it. Pure code.
 */
#pragma once

#include <stdbool.h>

/* A new JSON text (free()), always the same for runs with and for runs without a network; NULL when
 * out of memory or where the lists built into the program are broken (a test holds them right). */
char *seccomp_profile_text(bool network);
