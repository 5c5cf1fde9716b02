/* SPDX-License-Identifier: Apache-2.0 */
/* Writes JSON into memory of the size it needs: nothing has to grow meanwhile. Any thread. */
#include "json_compact.h"

#include "cleanup.h"

char *json_compact(const json_t *value)
{
    size_t size = json_dumpb(value, NULL, 0, JSON_COMPACT);
    CLEANUP_FREE char *text = size > 0 ? malloc(size + 1) : NULL;
    if (!text || json_dumpb(value, text, size, JSON_COMPACT) != size)
        return NULL;
    text[size] = '\0';
    return TAKE_POINTER(text);
}
