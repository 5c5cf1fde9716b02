/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files for reading: one that the operator names, or one beneath a directory, where a stranger has
 * chosen the name. Any thread.
 */
#pragma once

#include <stdint.h>

#include "base/failure.h"

/* A regular file for reading, or -1; a FIFO in its place does not hang. Links are followed: the
 * path is the operator's. */
int open_regular(const char *path, uint64_t *ret_size, struct failure *failure);

/* The same by a relative path beneath the directory: no links on the way or at its end, no way
 * out, no other file system. */
int open_regular_beneath(const char *directory, const char *path, uint64_t *ret_size,
                         struct failure *failure);

/* Another descriptor of the same open file with an offset of its own, or -1. */
int open_again(int fd);
