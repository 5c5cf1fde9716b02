/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The content of a set of packages as a tar archive (POSIX pax), for a new top directory of an
 * image: read piece by piece, never whole in memory. All is root's, read-only, with the times that
 * it has on this machine. While it is read the content's inventory is made (environments/
 * inventory.h), so at its end it is known whether it was the set of that hash. Runs in the docker
 * backend; a read waits for a local disk alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "environments/tree_walk.h"

struct package_archive;

/* Lists the directory, which stays the caller's. place: the name of the new top directory, without
 * a slash. NULL with an error: there are other things than files, directories and symbolic links,
 * or more than allowed. */
struct package_archive *package_archive_open(int content, const char *place,
                                             const struct tree_limits *limits, struct error *error);
void package_archive_close(struct package_archive *archive);

/* The next bytes; 0: there are no more. -1 with the error of package_archive_error(). */
ssize_t package_archive_read(struct package_archive *archive, void *bytes, size_t capacity);
const struct error *package_archive_error(const struct package_archive *archive);
/* The hash that names a set of this content, once all is read; else NULL. */
const char *package_archive_sha256(const struct package_archive *archive);
