/* SPDX-License-Identifier: Apache-2.0 */
/* Reads decimal numbers without strtol's silent cases. Any thread. */
#include "number.h"

#include <stddef.h>

bool number_parse(const char *text, uint64_t maximum, uint64_t *ret)
{
    if (!text || !*text)
        return false;
    uint64_t value = 0;
    for (size_t i = 0; text[i]; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        uint64_t digit = (uint64_t)(text[i] - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    if (value > maximum)
        return false;
    *ret = value;
    return true;
}
