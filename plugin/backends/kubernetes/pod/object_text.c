/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the copying of an object's texts: see object_text.h. Runs in the kubernetes backend. */
#include "backends/kubernetes/pod/object_text.h"

#include <string.h>

void object_text(const json_t *text, char *ret, size_t size)
{
    const char *value = json_string_value(text);
    size_t length = 0;
    for (; value && value[length] != '\0' && length + 1 < size; length++) {
        ret[length] = value[length];
        if (value[length] < ' ' || value[length] > '~')
            ret[length] = '?';
    }
    ret[length] = '\0';
}

bool object_name(const json_t *text, char *ret, size_t size)
{
    const char *value = json_string_value(text);
    if (!value || value[0] == '.' || strlen(value) >= size ||
        value[strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_")] !=
            '\0')
        return false;
    memcpy(ret, value, strlen(value) + 1);
    return true;
}
