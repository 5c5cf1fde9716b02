/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grammar of names and of secret handles. Pure code; runs in the gateway on the calling thread.
 */
#include "vocabulary/handle.h"

#include <string.h>

#include "base/ascii.h"

bool handle_name_valid(const char *name, size_t length)
{
    if (length == 0 || length > SECRET_NAME_LIMIT || !ascii_is_alphanumeric(name[0]))
        return false;
    for (size_t i = 1; i < length; i++) {
        if (!ascii_is_alphanumeric(name[i]) && name[i] != '.' && name[i] != '_' && name[i] != '-')
            return false;
    }
    return true;
}

bool handle_parse(const char *text, const char **ret_name, size_t *ret_length)
{
    size_t prefix = strlen(SECRET_HANDLE_PREFIX);
    size_t suffix = strlen(SECRET_HANDLE_SUFFIX);
    size_t length = strlen(text);
    if (length < prefix + suffix || memcmp(text, SECRET_HANDLE_PREFIX, prefix) != 0 ||
        memcmp(text + length - suffix, SECRET_HANDLE_SUFFIX, suffix) != 0)
        return false;
    if (!handle_name_valid(text + prefix, length - prefix - suffix))
        return false;
    *ret_name = text + prefix;
    *ret_length = length - prefix - suffix;
    return true;
}
