/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what a path says by its text alone: see path_form.h. */
#include "base/path_form.h"

#include <string.h>

bool path_stays_below(const char *path)
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

bool path_is_within(const char *path, const char *directory)
{
    size_t length = strlen(directory);
    return strncmp(path, directory, length) == 0 && (path[length] == '\0' || path[length] == '/');
}
