/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the form of quantities: see pod_config.h. Runs in the kubernetes backend. */
#include "backends/kubernetes/pod/pod_config.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"

#define QUANTITY_DIGITS 18 /* fit into a number */

void quantity_write(uint64_t value, char ret[QUANTITY_SIZE])
{
    static const char *const suffixes[] = {"", "k", "M", "G", "T", "P", "E"};
    size_t i = 0;
    while (value > 0 && value % 1000 == 0 && i + 1 < sizeof(suffixes) / sizeof(*suffixes)) {
        value /= 1000;
        i++;
    }
    (void)snprintf(ret, QUANTITY_SIZE, "%" PRIu64 "%s", value, suffixes[i]);
}

bool quantity_read(const char *text, uint64_t *ret)
{
    static const struct {
        const char *suffix;
        uint64_t factor;
    } rows[] = {
        {"", 1},
        {"k", 1000},
        {"M", 1000000},
        {"G", 1000000000},
        {"T", UINT64_C(1000000000000)},
        {"Ki", UINT64_C(1) << 10},
        {"Mi", UINT64_C(1) << 20},
        {"Gi", UINT64_C(1) << 30},
        {"Ti", UINT64_C(1) << 40},
    };
    size_t digits = text ? strspn(text, ASCII_DIGITS) : 0;
    if (digits == 0 || digits > QUANTITY_DIGITS)
        return false;
    uint64_t number = strtoull(text, NULL, 10);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (strcmp(text + digits, rows[i].suffix) == 0)
            return !__builtin_mul_overflow(number, rows[i].factor, ret);
    return false;
}
