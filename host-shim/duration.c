/* SPDX-License-Identifier: Apache-2.0 */
/* Reads durations. Pure code, any thread. */
#include "duration.h"

#include <stddef.h>
#include <string.h>

#include "cleanup.h"
#include "number.h"

#define DIGITS_MOST 18u

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
