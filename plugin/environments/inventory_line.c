/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the form of a line of an inventory: see inventory.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "environments/inventory.h"

#define NUMBERS_LIMIT 32

void inventory_write_line(const struct inventory_entry *entry,
                          void (*add)(void *user, const char *bytes, size_t length), void *user)
{
    char numbers[NUMBERS_LIMIT];
    const char *text = NULL;
    if (entry->path[0] == '\0')
        return;
    if (S_ISDIR(entry->mode)) {
        (void)snprintf(numbers, sizeof(numbers), "d ");
    } else if (S_ISLNK(entry->mode)) {
        text = entry->target;
        (void)snprintf(numbers, sizeof(numbers), "l %zu ", strlen(text));
    } else {
        text = entry->sha256;
        (void)snprintf(numbers, sizeof(numbers), "%c %" PRIu64 " ",
                       (entry->mode & 0111) != 0 ? 'x' : 'f', entry->size);
    }
    add(user, numbers, strlen(numbers));
    if (text) {
        add(user, text, strlen(text));
        add(user, " ", 1);
    }
    add(user, entry->path, strlen(entry->path));
    add(user, "\n", 1);
}
