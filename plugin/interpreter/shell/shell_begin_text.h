/* SPDX-License-Identifier: Apache-2.0 */
/* shell_begin.sh, embedded at build (scripts/generate/embed-text) with a NUL behind it. */
#pragma once

#include <stddef.h>

extern const char shell_begin_text[];
extern const size_t shell_begin_length;
