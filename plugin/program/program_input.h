/* SPDX-License-Identifier: Apache-2.0 */
/* A run's standard input as a descriptor that needs no writer. Any thread. */
#pragma once

#include <stddef.h>

#include "base/error.h"

/* A sealed memory file of the text, so that no SIGPIPE can come of it; /dev/null where text is
 * NULL. -1 with INTERNAL. */
int program_input_open(const char *text, size_t length, struct error *error);
