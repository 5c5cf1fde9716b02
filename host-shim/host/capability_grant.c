/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the grants of the command line. Pure code, any thread. */
#include "host/capability_grant.h"

#include <string.h>

static bool begins_with(const char *text, const char *beginning, size_t length)
{
    return strncmp(text, beginning, length) == 0;
}

enum capability_verdict capability_judge(const char *const *grants, size_t count, const char *asked)
{
    size_t name_length = strcspn(asked, "=");
    bool whole = asked[name_length] == '\0';
    if (strcmp(asked + name_length, "=!") == 0) /* asked to see what a host says to nonsense */
        return CAPABILITY_PROBE;
    bool granted = false;
    for (size_t i = 0; i < count; i++) {
        bool denial = grants[i][0] == '!';
        const char *grant = grants[i] + (denial ? 1 : 0);
        bool same = strcmp(grant, asked) == 0;
        bool of_name = begins_with(grant, asked, name_length);
        bool covers = of_name && grant[name_length] == '\0';
        bool part = whole && of_name && grant[name_length] == '=';
        if (denial && (same || covers || part))
            return CAPABILITY_DENIED;
        if (!denial && (same || covers))
            granted = true;
    }
    return granted ? CAPABILITY_GRANTED : CAPABILITY_NOT_GRANTED;
}
