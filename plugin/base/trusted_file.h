/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening a file that decides something, by a path on which only root and the gateway's own user
 * can put another file in its place: file, directories and symbolic links are theirs, and no other
 * user can write to them. A directory that others can write to is accepted if it is sticky (/tmp):
 * there users cannot remove the files of others. Access lists count, as their mask is in the mode.
 * Any thread.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

#define TRUSTED_LINKS_LIMIT 40 /* as many symbolic links as the kernel follows */

/* A descriptor of the regular file, open for reading; -1 with an error of that code, whose message
 * begins with "kind path: ". A relative path begins in the working directory. */
int trusted_file_open(const char *kind, const char *path, enum error_code code,
                      struct error *error);

/* Reads length bytes, or fewer at the file's end: how many; -1 with errno. Whatever the file's size
 * said, one byte more than is wanted reveals a file that is too long. */
ssize_t trusted_file_read(int fd, void *bytes, size_t length);
