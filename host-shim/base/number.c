/* SPDX-License-Identifier: Apache-2.0 */
/* Reads decimal numbers without strtol's silent cases, and durations. Any thread. */
#include "base/number.h"

#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"

#define DIGITS_MOST 18u

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

bool duration_parse(const char *text, uint64_t maximum_ms, uint64_t *ret_ms)
{
    static const struct {
        const char *name;
        uint64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
    char digits[DIGITS_MOST + 1];
    size_t length = strspn(text, "0123456789");
    uint64_t number = 0;
    if (length > DIGITS_MOST)
        return false;
    memcpy(digits, text, length);
    digits[length] = '\0';
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        if (strcmp(text + length, units[i].name) != 0 ||
            !number_parse(digits, maximum_ms / units[i].ms, &number))
            continue;
        *ret_ms = number * units[i].ms;
        return true;
    }
    return false;
}
