/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing numbers: see json_number.h. Pure code; runs in the gateway on the calling thread. */
#include "json/json_number.h"

#include <stdint.h>

bool json_number_is_whole(const json_t *number)
{
    double value = json_real_value(number);
    return json_is_integer(number) || value >= 0x1p53 || value <= -0x1p53 ||
           value == (double)(int64_t)value;
}

/* -1, 0 or 1; exact, as a double is not beyond 2^53. */
static int compare_mixed(int64_t integer, double real)
{
    if (real >= 0x1p63)
        return -1;
    if (real < -0x1p63)
        return 1;
    int64_t whole = (int64_t)real;
    double rest = real - (double)whole;
    if (integer != whole)
        return integer < whole ? -1 : 1;
    return rest > 0 ? -1 : rest < 0;
}

int json_number_compare(const json_t *left, const json_t *right)
{
    if (json_is_integer(left) && json_is_integer(right))
        return (json_integer_value(left) > json_integer_value(right)) -
               (json_integer_value(left) < json_integer_value(right));
    if (json_is_integer(left))
        return compare_mixed(json_integer_value(left), json_real_value(right));
    if (json_is_integer(right))
        return -compare_mixed(json_integer_value(right), json_real_value(left));
    return (json_real_value(left) > json_real_value(right)) -
           (json_real_value(left) < json_real_value(right));
}
