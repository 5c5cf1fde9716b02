/* SPDX-License-Identifier: Apache-2.0 */
/* pod.json, embedded at build (scripts/generate/embed-text) with a NUL behind it. */
#pragma once

#include <stddef.h>

extern const char pod_text[];
extern const size_t pod_length;
