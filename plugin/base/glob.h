/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns of paths: those of a request's "outputs", in the first process of a sandbox, and those
 * of an endpoint's requests, in the broker. Pure code, any thread.
 */
#pragma once

#include <stdbool.h>

/*
 * Whether the path matches the pattern. The time is at most the product of both lengths.
 *   *      any characters of one part of the path, or none
 *   ?      one character
 *   [a-z]  one of these bytes, [!a-z] none of them
 *   **     as a whole part: any number of directories, or none; at the end, everything below
 * A wildcard never stands for the dot that a part of the path begins with. The rest stands for
 * itself, a "[" without its "]" as well. A path that begins with "/" has an empty first part, and
 * is matched by patterns that begin with "/".
 */
bool glob_matches(const char *pattern, const char *path);
