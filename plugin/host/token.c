/* SPDX-License-Identifier: Apache-2.0 */
/* Making tokens: see host.h. Runs in the gateway, on any thread. */
#include "host/host.h"

#include <sys/random.h>

#define TOKEN_BITS 53 /* with that of the kind, which is the lowest */

bool token_make(enum token_kind kind, uint64_t *ret)
{
    uint64_t number = 0;
    do {
        if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
            return false;
        number &= (UINT64_C(1) << (TOKEN_BITS - 1)) - 1;
    } while (number == 0);
    *ret = number << 1 | (uint64_t)kind;
    return true;
}
