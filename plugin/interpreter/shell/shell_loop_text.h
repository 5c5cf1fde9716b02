/* SPDX-License-Identifier: Apache-2.0 */
/* shell_loop.sh, embedded at build (scripts/generate/embed-text) with a NUL behind it. */
#pragma once

#include <stddef.h>

extern const char shell_loop_text[];
extern const size_t shell_loop_length;
