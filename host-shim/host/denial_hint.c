/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the last denial of a call's grants. On the thread of a call. */
#include "host/denial_hint.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_member.h"

void denial_hint_add(const struct grants *grants, json_t *result)
{
    json_t *error = json_object_get(result, "error");
    const char *denied = grants->denied;
    if (!denied[0] || strcmp(json_member_string(error, "code", ""), "access_denied") != 0 ||
        !strstr(json_member_string(error, "message", ""), denied))
        return; /* refused for something else, as by the provider's policy */
    const char *hint = json_member_string(error, "hint", "");
    json_t *more =
        grants->denied_by_option
            ? json_sprintf("%s%swith toolhost: a --cap '!...' denies it", hint, *hint ? "; " : "")
            : json_sprintf("%s%swith toolhost: --cap %s", hint, *hint ? "; " : "", denied);
    if (more)
        (void)json_object_set_new(error, "hint", more);
}
