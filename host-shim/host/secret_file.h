/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets of --secret NAME=FILE: read from the file at each call, never kept. Called on the thread
 * that is inside tool_invoke().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/failure.h"

#define SECRET_FILE_LIMIT 65536u

/* Reads the file's bytes without one trailing line break. *ret_length is their number; they are
 * copied to buffer only where capacity suffices. */
bool secret_file_read(const char *path, void *buffer, size_t capacity, size_t *ret_length,
                      struct failure *failure);
