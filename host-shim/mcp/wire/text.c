/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of any kind as text for JSON. Pure code, any thread. */
#include "mcp/wire/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

/* How long the character is that such a byte begins; 0: none. */
static size_t length_by_first(unsigned char first)
{
    static const struct {
        unsigned char least;
        size_t length;
    } rows[] = {{0xf5, 0}, {0xf0, 4}, {0xe0, 3}, {0xc2, 2}, {0x80, 0}, {0x00, 1}};
    size_t row = 0;
    while (first < rows[row].least)
        row++;
    return rows[row].length;
}

size_t text_length_of_whole(const char *bytes, size_t length)
{
    for (size_t behind = 1; behind <= 3 && behind <= length; behind++) {
        unsigned char byte = (unsigned char)bytes[length - behind];
        if ((byte & 0xc0) != 0x80)
            return length_by_first(byte) > behind ? length - behind : length;
    }
    return length;
}

/* How many bytes the character at text has; 0 where none begins there. Unicode 15, table 3-7. */
static size_t character_length(const unsigned char *text, size_t length)
{
    size_t size = length_by_first(text[0]);
    if (size == 0 || size > length)
        return 0;
    for (size_t i = 1; i < size; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    }
    bool overlong = (text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xf0 && text[1] < 0x90);
    bool beyond = (text[0] == 0xed && text[1] >= 0xa0) || (text[0] == 0xf4 && text[1] >= 0x90);
    return overlong || beyond ? 0 : size;
}

json_t *text_to_json(const char *bytes, size_t length)
{
    static const char replacement[] = "\xef\xbf\xbd";
    CLEANUP_FREE char *text = malloc(length * (sizeof(replacement) - 1) + 1);
    if (!text)
        return NULL;
    size_t used = 0;
    for (size_t i = 0; i < length;) {
        size_t size = character_length((const unsigned char *)bytes + i, length - i);
        if (size > 0) {
            memcpy(text + used, bytes + i, size);
            used += size;
            i += size;
        } else {
            memcpy(text + used, replacement, sizeof(replacement) - 1);
            used += sizeof(replacement) - 1;
            i++;
        }
    }
    return json_stringn(text, used);
}
