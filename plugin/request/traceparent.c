/* SPDX-License-Identifier: Apache-2.0 */
/* Judges the form of a traceparent. Any thread. */
#include "request/traceparent.h"

#include <stddef.h>
#include <string.h>

#define TRACEPARENT_LIMIT                                                   \
    256u /* of ours: later versions may be longer than the 55 of version 00 \
          */

/* That many digits and then the end of the field; *next is behind it. */
static bool take_hex(const char **next, size_t digits, bool may_be_zero)
{
    const char *field = *next;
    if (strspn(field, "0123456789abcdef") != digits)
        return false;
    *next = field + digits;
    return may_be_zero || strspn(field, "0") < digits;
}

static bool take_dash(const char **next)
{
    return *(*next)++ == '-';
}

bool traceparent_is_valid(const char *text)
{
    const char *next = text;
    if (strnlen(text, TRACEPARENT_LIMIT + 1) > TRACEPARENT_LIMIT || strncmp(text, "ff", 2) == 0)
        return false;
    if (!take_hex(&next, 2, true) || !take_dash(&next) || !take_hex(&next, 32, false) ||
        !take_dash(&next) || !take_hex(&next, 16, false) || !take_dash(&next) ||
        !take_hex(&next, 2, true))
        return false;
    return *next == '\0' || (*next == '-' && strncmp(text, "00", 2) != 0);
}
