/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of names: see pattern.h. Runs in the gateway, on any thread. */
#include "vocabulary/pattern.h"

#include <string.h>

bool tool_name_valid(const char *name)
{
    size_t length = strnlen(name, TOOL_NAME_LIMIT + 1);
    if (length == 0 || length > TOOL_NAME_LIMIT)
        return false;
    for (; *name != '\0'; name++)
        if ((unsigned char)*name < 0x20 || *name == 0x7f)
            return false;
    return true;
}

bool name_pattern_valid(const char *pattern)
{
    const char *star = strchr(pattern, '*');
    return tool_name_valid(pattern) && (!star || star[1] == '\0');
}

bool name_pattern_matches(const char *pattern, const char *name)
{
    const char *star = strchr(pattern, '*');
    return star ? strncmp(pattern, name, (size_t)(star - pattern)) == 0
                : strcmp(pattern, name) == 0;
}

bool name_patterns_match(char *const *patterns, const char *name)
{
    for (; *patterns; patterns++)
        if (name_pattern_matches(*patterns, name))
            return true;
    return false;
}
