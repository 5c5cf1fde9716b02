/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the form of such a path: see run_description.h. */
#include "run_description.h"

#include <string.h>

bool run_path_stays_below(const char *path)
{
    for (const char *part = path;; part++) {
        size_t length = strcspn(part, "/");
        if (length == 0 || (length == 1 && part[0] == '.') ||
            (length == 2 && part[0] == '.' && part[1] == '.'))
            return false;
        part += length;
        if (*part == '\0')
            return true;
    }
}
