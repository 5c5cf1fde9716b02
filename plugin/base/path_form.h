/* SPDX-License-Identifier: Apache-2.0 */
/* What a path says by its text alone; nothing looks at files. Pure code, in every program of ours
 * and in sandboxes. */
#pragma once

#include <stdbool.h>

/* Has a relative path no empty, "." or ".." part? Then it can only name something below a
 * directory. */
bool path_stays_below(const char *path);

/* Is it the directory, or something in it? Neither ends with a slash, nor has a part that
 * path_stays_below() refuses. */
bool path_is_within(const char *path, const char *directory);
