/* SPDX-License-Identifier: Apache-2.0 */
/* Is an open file one that only its owner can have written or read? Any thread. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "base/failure.h"

/* Judges what fstat() said of the opened file: regular, of this user or of root, without any
 * permission for its group or others. path is for the message, code for the failure. */
bool trusted_file_check(const struct stat *status, const char *path, const char *code,
                        struct failure *failure);
