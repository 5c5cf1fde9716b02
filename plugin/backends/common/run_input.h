/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the plugin hands over with a run, as every backend reads it: bounded copies, because what
 * the plugin has sealed need not be by others. Runs in the supervisors, single-threaded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "protocol/run_description.h"

/* A copy of a regular file, the caller's to wipe and free; NULL where it is another kind of file,
 * is empty, is longer than limit or cannot be read. */
unsigned char *run_read_file(int fd, size_t limit, size_t *ret_length);

/* true: *ret is the caller's (run_description_clear()). */
bool run_read_description(int fd, struct run_description *ret);
