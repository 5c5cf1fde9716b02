/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the grammar of paths: see json_path.h. */
#include "json/json_path.h"

#include <string.h>

#include "base/path_form.h"

/* parts: the path without the "/" of an absolute one. */
static bool check_parts(const struct json_place *place, const char *parts)
{
    return json_check_no_control(place, parts) &&
           (path_stays_below(parts) ||
            json_place_refuse(place, "must not have empty, \".\" or \"..\" parts"));
}

bool json_check_absolute_path(const struct json_place *place, const char *path)
{
    if (path[0] != '/')
        return json_place_refuse(place, "must be an absolute path");
    if (strlen(path) > PATH_LIMIT)
        return json_place_refuse(place, "must be at most %d bytes long", PATH_LIMIT);
    return path[1] == '\0' || check_parts(place, path + 1);
}

bool json_check_relative_path(const struct json_place *place, const char *path)
{
    if (path[0] == '/')
        return json_place_refuse(place, "must be a relative path");
    return check_parts(place, path);
}
