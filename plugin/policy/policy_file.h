/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a policy file, after checking that it is one. A FIFO or device would block or never
 * end, and a file that other users can write is refused (trusted_file.h). Any thread.
 */
#pragma once

#include <stddef.h>

#include "base/error.h"

#define POLICY_FILE_LIMIT (1u << 20) /* bytes */

/* New bytes (free()) of *ret_length, or NULL with error INVALID_POLICY. */
char *policy_file_read(const char *path, size_t *ret_length, struct error *error);
