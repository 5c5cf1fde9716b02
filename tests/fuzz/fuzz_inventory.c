/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recorded inventory, which somebody may have edited, beside another one: it is the same exactly
 * when its bytes are, a path that is named lies in one of the two texts, and what was added seen
 * from one side was removed seen from the other. The input is two texts with a NUL between them.
 */
#include "environments/inventory.h"
#include "fuzz.h"

static bool lies_in(const char *path, size_t length, const uint8_t *bytes, size_t size)
{
    const uint8_t *begin = (const uint8_t *)path;
    return begin >= bytes && begin + length <= bytes + size;
}

static enum inventory_change opposite(enum inventory_change change)
{
    if (change == INVENTORY_ADDED)
        return INVENTORY_REMOVED;
    return change == INVENTORY_REMOVED ? INVENTORY_ADDED : change;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *nul = size ? memchr(data, '\0', size) : NULL;
    size_t one_length = nul ? (size_t)(nul - data) : size;
    size_t other_length = nul ? size - one_length - 1 : 0;
    uint8_t *one = fuzz_exact(data, one_length);
    uint8_t *other = fuzz_exact(data + (size - other_length), other_length);
    const char *path;
    size_t length;
    enum inventory_change change = inventory_compare(
        (const char *)one, one_length, (const char *)other, other_length, &path, &length);
    bool same = one_length == other_length && memcmp(one, other, one_length) == 0;
    MUST(same == (change == INVENTORY_SAME));
    MUST((path == NULL) == (length == 0));
    MUST(!path || lies_in(path, length, one, one_length) ||
         lies_in(path, length, other, other_length));
    MUST(!path || (!memchr(path, '\n', length) && change != INVENTORY_SAME));
    MUST(change == INVENTORY_SAME || change == INVENTORY_CHANGED || path != NULL);
    const char *path_back;
    size_t length_back;
    enum inventory_change back = inventory_compare(
        (const char *)other, other_length, (const char *)one, one_length, &path_back, &length_back);
    MUST(back == opposite(change));
    MUST(length_back == length && (length == 0 || memcmp(path, path_back, length) == 0));
    free(one);
    free(other);
    return 0;
}
