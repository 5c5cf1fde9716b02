/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns of paths, as a request's "outputs" has them. Pure code, any process.
 *   *      any characters of one part of the path, or none
 *   ?      one character
 *   [a-z]  one of these bytes, [!a-z] none of them
 *   **     as a whole part: any number of directories, or none; at the end, everything below
 * A wildcard never stands for the dot that a part of the path begins with. The rest stands for
 * itself, a "[" without its "]" as well.
 */
#pragma once

#include <stdbool.h>

/* Whether the relative path matches. The time is at most the product of both lengths. */
bool glob_matches(const char *pattern, const char *path);
