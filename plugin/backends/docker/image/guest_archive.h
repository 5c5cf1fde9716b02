/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guest in the form in which an engine takes a file: a tar archive (POSIX ustar) with the guest
 * as its one file, executable but not readable, of root and of a fixed time. Engines with the
 * overlay driver write the layer that is made of it in the same bytes, so its digest is known
 * beforehand. Pure code.
 */
#pragma once

#include <stddef.h>

#define GUEST_LIMIT (4U << 20) /* bytes of a guest */

/* A new archive. NULL when out of memory, or where the guest is empty or longer than the limit.
 * owner: the name of uid and gid 0, at most 31 bytes; older engines write "root", newer ones "". */
unsigned char *guest_archive_make(const unsigned char *guest, size_t length, const char *owner,
                                  size_t *ret_length);
