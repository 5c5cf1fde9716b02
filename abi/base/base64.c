/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Base64 both ways. Pure code, any thread.
 */
#include "base/base64.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/cleanup.h"

static int digit_value(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+')
        return 62;
    return c == '/' ? 63 : -1;
}

/* Four characters, the last padding of them '=', into 3 - padding bytes. */
static bool decode_group(const char *group, size_t padding, unsigned char *bytes)
{
    uint32_t bits = 0;
    for (size_t i = 0; i < 4; i++) {
        int value = i < 4 - padding ? digit_value(group[i]) : 0;
        if (value < 0)
            return false;
        bits = bits << 6 | (uint32_t)value;
    }
    if ((padding == 1 && (bits & 0xFF) != 0) || (padding == 2 && (bits & 0xFFFF) != 0))
        return false;
    for (size_t i = 0; i < 3 - padding; i++)
        bytes[i] = (unsigned char)(bits >> (16 - 8 * i));
    return true;
}

enum base64_result base64_decode(const char *text, size_t length, unsigned char **ret,
                                 size_t *ret_length)
{
    if (length % 4 != 0)
        return BASE64_INVALID;
    size_t padding = 0;
    while (padding < 2 && padding < length && text[length - 1 - padding] == '=')
        padding++;
    CLEANUP_FREE unsigned char *bytes = malloc(length / 4 * 3 + 1);
    if (!bytes)
        return BASE64_OUT_OF_MEMORY;
    for (size_t i = 0; i < length / 4; i++) {
        size_t group_padding = i == length / 4 - 1 ? padding : 0;
        if (!decode_group(text + 4 * i, group_padding, bytes + 3 * i))
            return BASE64_INVALID;
    }
    *ret_length = length / 4 * 3 - padding;
    bytes[*ret_length] = '\0';
    *ret = TAKE_POINTER(bytes);
    return BASE64_OK;
}

char *base64_encode(const unsigned char *bytes, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = malloc((length + 2) / 3 * 4 + 1);
    if (!text)
        return NULL;
    char *end = text;
    for (size_t i = 0; i < length; i += 3) {
        size_t count = length - i < 3 ? length - i : 3;
        uint32_t bits = (uint32_t)bytes[i] << 16;
        if (count > 1)
            bits |= (uint32_t)bytes[i + 1] << 8;
        if (count > 2)
            bits |= bytes[i + 2];
        for (size_t digit = 0; digit < 4; digit++)
            *end++ = (char)(digit <= count ? digits[bits >> (18 - 6 * digit) & 0x3F] : '=');
    }
    *end = '\0';
    return text;
}
