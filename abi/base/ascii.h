/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Characters of names, and texts that have no others. isalpha() and its like follow the host's
 * locale, and these do not. Pure code, any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define ASCII_DIGITS       "0123456789"
#define ASCII_LOWER        "abcdefghijklmnopqrstuvwxyz"
#define ASCII_UPPER        "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define ASCII_LETTERS      ASCII_UPPER ASCII_LOWER
#define ASCII_ALPHANUMERIC ASCII_LETTERS ASCII_DIGITS
#define ASCII_LOWER_HEX    ASCII_DIGITS "abcdef"

static inline bool ascii_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool ascii_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline bool ascii_is_alphanumeric(char c)
{
    return ascii_is_letter(c) || ascii_is_digit(c);
}

/* Has the text at least one byte, at most that many, and only accepted ones? */
static inline bool ascii_consists_of(const char *text, size_t most, const char *accepted)
{
    size_t length = strspn(text, accepted);
    return length > 0 && length <= most && text[length] == '\0';
}

/* Has the text neither a blank, a control character nor anything above ASCII? */
static inline bool ascii_is_printable(const char *text)
{
    for (; *text != '\0'; text++)
        if (*text <= ' ' || *text >= 0x7F)
            return false;
    return true;
}

/* Has the text exactly so many digits, in lower case, and nothing else? */
static inline bool ascii_is_hex(const char *text, size_t digits)
{
    return strspn(text, ASCII_LOWER_HEX) == digits && text[digits] == '\0';
}
