/* SPDX-License-Identifier: Apache-2.0 */
/* Writes JSON into memory of the size it needs: nothing has to grow meanwhile. Any thread. */
#include "base/json_compact.h"

#include "base/cleanup.h"

char *json_text(const json_t *value, size_t flags)
{
    size_t size = json_dumpb(value, NULL, 0, flags);
    CLEANUP_FREE char *text = size > 0 ? malloc(size + 1) : NULL;
    if (!text || json_dumpb(value, text, size, flags) != size)
        return NULL;
    text[size] = '\0';
    return TAKE_POINTER(text);
}

char *json_compact(const json_t *value)
{
    return json_text(value, JSON_COMPACT);
}
