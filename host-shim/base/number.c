/* SPDX-License-Identifier: Apache-2.0 */
/* Reads decimal numbers without strtol's silent cases, durations and sizes. Any thread. */
#include "base/number.h"

#include <stddef.h>
#include <string.h>

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

struct unit {
    const char *name;
    uint64_t factor;
};

/* Digits and the name of one of the units, the last of which has none. */
static bool parse_with_unit(const char *text, const struct unit *units, uint64_t maximum,
                            uint64_t *ret)
{
    char digits[DIGITS_MOST + 1];
    size_t length = strspn(text, "0123456789");
    uint64_t number = 0;
    if (length > DIGITS_MOST)
        return false;
    memcpy(digits, text, length);
    digits[length] = '\0';
    for (; units->name; units++) {
        if (strcmp(text + length, units->name) != 0 ||
            !number_parse(digits, maximum / units->factor, &number))
            continue;
        *ret = number * units->factor;
        return true;
    }
    return false;
}

bool duration_parse(const char *text, uint64_t maximum_ms, uint64_t *ret_ms)
{
    static const struct unit units[] = {{"ms", 1},      {"s", 1000},     {"m", 60000},
                                        {"h", 3600000}, {"d", 86400000}, {NULL, 0}};
    return parse_with_unit(text, units, maximum_ms, ret_ms);
}

bool size_parse(const char *text, uint64_t maximum, uint64_t *ret)
{
    static const struct unit units[] = {
        {"", 1},           {"K", 1u << 10},          {"KiB", 1u << 10},
        {"M", 1u << 20},   {"MiB", 1u << 20},        {"G", 1u << 30},
        {"GiB", 1u << 30}, {"T", UINT64_C(1) << 40}, {"TiB", UINT64_C(1) << 40},
        {NULL, 0}};
    return parse_with_unit(text, units, maximum, ret);
}
