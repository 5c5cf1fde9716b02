/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded reads from descriptors and files. Any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/failure.h"

/* Reads until the end or until capacity bytes are there; their number, or -1 with errno. */
ssize_t read_up_to(int fd, char *buffer, size_t capacity);

/* Reads the file ("-": standard input) to its end into a new NUL-terminated text. A file of more
 * than limit bytes is refused. */
bool read_bounded_file(const char *path, size_t limit, char **ret_text, size_t *ret_length,
                       struct failure *failure);
