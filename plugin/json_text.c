/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing JSON in two passes. json_dumps() of jansson 2.14 goes on when its buffer cannot grow in
 * the middle of a name, and returns a text that lacks it; a buffer of the right size cannot fail.
 */
#include "json_text.h"

#include <stdlib.h>

#include "cleanup.h"

char *json_text(const json_t *value, size_t flags)
{
    size_t length = json_dumpb(value, NULL, 0, flags);
    if (length == 0)
        return NULL;
    CLEANUP_FREE char *text = malloc(length + 1);
    if (text == NULL || json_dumpb(value, text, length, flags) != length)
        return NULL;
    text[length] = '\0';
    return TAKE_POINTER(text);
}
