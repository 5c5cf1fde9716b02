/* SPDX-License-Identifier: Apache-2.0 */
/* The path of a file below the working directory of a run. Pure code, any process. */
#pragma once

#include <stdbool.h>

#define RUN_FILE_PATH_LIMIT 4095 /* bytes */

/* Relative, without an empty, "." or ".." part: the path can only name something below a directory,
 * as that of a file must. */
bool run_path_stays_below(const char *path);
