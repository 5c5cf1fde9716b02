/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 checks. Any process of ours, any thread. */
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

static const char replacement[] = "\xEF\xBF\xBD"; /* U+FFFD */
#define REPLACEMENT_LENGTH (sizeof(replacement) - 1)

static bool is_continuation(unsigned char byte)
{
    return (byte & 0xC0) == 0x80;
}

/* Length the leading byte promises, 0 for a byte that cannot lead. */
static size_t promised_length(unsigned char lead)
{
    if (lead < 0x80)
        return 1;
    if (lead >= 0xC2 && lead <= 0xDF)
        return 2;
    if (lead >= 0xE0 && lead <= 0xEF)
        return 3;
    if (lead >= 0xF0 && lead <= 0xF4)
        return 4;
    return 0;
}

size_t utf8_sequence(const unsigned char *bytes, size_t length)
{
    if (length == 0)
        return 0;
    size_t promised = promised_length(bytes[0]);
    if (promised == 0 || promised > length)
        return 0;
    for (size_t i = 1; i < promised; i++)
        if (!is_continuation(bytes[i]))
            return 0;
    if (promised == 1)
        return 1;
    unsigned char second = bytes[1];
    bool overlong = (bytes[0] == 0xE0 && second < 0xA0) || (bytes[0] == 0xF0 && second < 0x90);
    bool surrogate = bytes[0] == 0xED && second > 0x9F;
    bool too_high = bytes[0] == 0xF4 && second > 0x8F;
    return overlong || surrogate || too_high ? 0 : promised;
}

/* The length of the clean text, which is also put into ret where that is not NULL. */
static size_t replace_broken(const unsigned char *bytes, size_t length, char *ret,
                             bool *ret_replaced)
{
    size_t used = 0;
    *ret_replaced = false;
    for (size_t i = 0; i < length;) {
        size_t sequence = utf8_sequence(bytes + i, length - i);
        size_t count = sequence > 0 ? sequence : REPLACEMENT_LENGTH;
        if (ret)
            memcpy(ret + used, sequence > 0 ? (const char *)bytes + i : replacement, count);
        *ret_replaced = *ret_replaced || sequence == 0;
        used += count;
        i += sequence > 0 ? sequence : 1;
    }
    return used;
}

char *utf8_sanitize(const unsigned char *bytes, size_t length, size_t *ret_length,
                    bool *ret_replaced)
{
    bool replaced;
    size_t clean_length = replace_broken(bytes, length, NULL, &replaced);
    char *clean = malloc(clean_length + 1);
    if (!clean)
        return NULL;
    (void)replace_broken(bytes, length, clean, &replaced);
    clean[clean_length] = '\0';
    *ret_length = clean_length;
    *ret_replaced = replaced;
    return clean;
}

size_t utf8_whole_prefix(const unsigned char *bytes, size_t length)
{
    for (size_t back = 1; back <= 3 && back <= length; back++) {
        unsigned char byte = bytes[length - back];
        if (is_continuation(byte))
            continue;
        return promised_length(byte) > back ? length - back : length;
    }
    return length;
}

void utf8_end_whole(char *text)
{
    text[utf8_whole_prefix((const unsigned char *)text, strlen(text))] = '\0';
}

size_t utf8_continuation_prefix(const unsigned char *bytes, size_t length)
{
    size_t count = 0;
    while (count < 3 && count < length && is_continuation(bytes[count]))
        count++;
    return count;
}
