/* SPDX-License-Identifier: Apache-2.0 */
/* The grammar of paths. Pure code; runs in the gateway on the calling thread. */
#include "vocabulary/path.h"

#include <string.h>

#include "protocol/run_description.h"

/* names: the path without the "/" of an absolute one. */
static bool check_names(const struct json_place *place, const char *names)
{
    return json_check_no_control(place, names) &&
           (run_path_stays_below(names) ||
            json_place_refuse(place, "must not have empty, \".\" or \"..\" parts"));
}

bool path_check_absolute(const struct json_place *place, const char *path)
{
    if (path[0] != '/')
        return json_place_refuse(place, "must be an absolute path");
    if (strlen(path) > PATH_LIMIT)
        return json_place_refuse(place, "must be at most %d bytes long", PATH_LIMIT);
    return path[1] == '\0' || check_names(place, path + 1);
}

bool path_check_relative(const struct json_place *place, const char *path)
{
    if (path[0] == '/')
        return json_place_refuse(place, "must be a relative path");
    return check_names(place, path);
}
