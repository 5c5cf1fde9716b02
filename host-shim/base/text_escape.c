/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Escaping of untrusted text for people. Every character that is not plainly visible is in the
 * table: showing one too many costs nothing, hiding one may cost the machine. Pure code, any
 * thread.
 */
#include "base/text_escape.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/utf8.h"

struct code_points {
    uint32_t first, last;
};

/* Ascending. */
static const struct code_points not_plainly_visible[] = {
    {0x0000, 0x001F},    /* C0 controls, ESC among them */
    {0x007F, 0x00A0},    /* DEL, C1 controls, no-break space */
    {0x00AD, 0x00AD},    /* soft hyphen */
    {0x0300, 0x036F},    /* combining marks draw over what stands before them */
    {0x0483, 0x0489},    /* more of them */
    {0x061C, 0x061C},    /* Arabic letter mark */
    {0x115F, 0x1160},    /* Hangul fillers */
    {0x1680, 0x1680},    /* Ogham space */
    {0x17B4, 0x17B5},    /* Khmer inherent vowels */
    {0x180B, 0x180F},    /* Mongolian selectors */
    {0x1AB0, 0x1AFF},    /* combining marks */
    {0x1DC0, 0x1DFF},    /* combining marks */
    {0x2000, 0x200F},    /* spaces, zero-width characters, direction marks */
    {0x2028, 0x202F},    /* line separators, bidirectional embeddings and overrides */
    {0x205F, 0x206F},    /* invisible operators, bidirectional isolates */
    {0x20D0, 0x20FF},    /* combining marks for symbols */
    {0x2800, 0x2800},    /* blank Braille pattern */
    {0x3000, 0x3000},    /* ideographic space */
    {0x302A, 0x302F},    /* combining tone marks */
    {0x3164, 0x3164},    /* Hangul filler */
    {0xE000, 0xF8FF},    /* private use: the font decides what is seen */
    {0xFDD0, 0xFDEF},    /* noncharacters */
    {0xFE00, 0xFE0F},    /* variation selectors */
    {0xFE20, 0xFE2F},    /* combining half marks */
    {0xFEFF, 0xFEFF},    /* byte order mark */
    {0xFFA0, 0xFFA0},    /* Hangul filler */
    {0xFFF0, 0xFFFB},    /* interlinear annotations */
    {0xFFFE, 0xFFFF},    /* noncharacters */
    {0x13430, 0x13455},  /* hieroglyph format controls */
    {0x1BCA0, 0x1BCA3},  /* shorthand format controls */
    {0x1D159, 0x1D159},  /* null notehead */
    {0x1D165, 0x1D1AD},  /* musical combining and format characters */
    {0xE0000, 0x10FFFF}, /* tags, selectors, private use */
};

#define TAB_COLUMNS 4u

static bool is_in_ranges(const struct code_points *ranges, size_t count, uint32_t code_point)
{
    for (size_t i = 0; i < count; i++) {
        if (code_point >= ranges[i].first && code_point <= ranges[i].last)
            return true;
    }
    return false;
}

static bool is_plainly_visible(uint32_t code_point)
{
    return !is_in_ranges(not_plainly_visible, COUNT_OF(not_plainly_visible), code_point);
}

/* The bytes of the sequence, or 0 when it is not UTF-8. */
static size_t decode(const char *text, size_t length, uint32_t *ret_code_point)
{
    static const unsigned char first_byte_bits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    size_t bytes = utf8_sequence((const unsigned char *)text, length);
    uint32_t value = (unsigned char)text[0] & first_byte_bits[bytes];
    for (size_t i = 1; i < bytes; i++)
        value = (value << 6) | ((unsigned char)text[i] & 0x3F);
    *ret_code_point = value;
    return bytes;
}

static void show_number(struct shown_character *shown, uint32_t code_point)
{
    (void)snprintf(shown->text, sizeof(shown->text), "<U+%04X>", (unsigned)code_point);
    shown->columns = (unsigned)strlen(shown->text);
}

static struct shown_character show_next(const char *text, size_t length)
{
    struct shown_character shown = {.consumed = 1};
    uint32_t code_point = 0;
    size_t bytes = decode(text, length, &code_point);
    if (bytes == 0) {
        (void)snprintf(shown.text, sizeof(shown.text), "<0x%02X>", (unsigned char)text[0]);
        shown.columns = (unsigned)strlen(shown.text);
        return shown;
    }
    shown.consumed = bytes;
    if (code_point == '\t') {
        (void)snprintf(shown.text, sizeof(shown.text), "%*s", (int)TAB_COLUMNS, "");
        shown.columns = TAB_COLUMNS;
    } else if (is_plainly_visible(code_point)) {
        memcpy(shown.text, text, bytes);
        shown.columns = bytes == 1 ? 1 : 2; /* wide at worst */
    } else {
        show_number(&shown, code_point);
    }
    return shown;
}

/* Letters of other alphabets that look like one of ASCII. Ascending. */
static const struct code_points look_alike_letters[] = {
    {0x0131, 0x0131},   {0x017F, 0x017F},   {0x01C0, 0x01C0},   {0x0251, 0x0251},
    {0x0261, 0x0261},   {0x0269, 0x0269},   {0x0391, 0x0392},   {0x0395, 0x0397},
    {0x0399, 0x039A},   {0x039C, 0x039D},   {0x039F, 0x039F},   {0x03A1, 0x03A1},
    {0x03A4, 0x03A5},   {0x03A7, 0x03A7},   {0x03B1, 0x03B1},   {0x03B3, 0x03B3},
    {0x03B9, 0x03BA},   {0x03BD, 0x03BD},   {0x03BF, 0x03BF},   {0x03C1, 0x03C1},
    {0x03C3, 0x03C3},   {0x03C5, 0x03C5},   {0x03F2, 0x03F3},   {0x03F9, 0x03F9},
    {0x0405, 0x0406},   {0x0408, 0x0408},   {0x0410, 0x0410},   {0x0412, 0x0412},
    {0x0415, 0x0415},   {0x041A, 0x041A},   {0x041C, 0x041E},   {0x0420, 0x0423},
    {0x0425, 0x0425},   {0x0430, 0x0430},   {0x0435, 0x0435},   {0x043A, 0x043A},
    {0x043E, 0x043E},   {0x0440, 0x0441},   {0x0443, 0x0443},   {0x0445, 0x0445},
    {0x0455, 0x0456},   {0x0458, 0x0458},   {0x0474, 0x0475},   {0x04AE, 0x04AF},
    {0x04BA, 0x04BB},   {0x04C0, 0x04C0},   {0x04CF, 0x04CF},   {0x0500, 0x0501},
    {0x051A, 0x051D},   {0x0566, 0x0566},   {0x0570, 0x0570},   {0x0578, 0x0578},
    {0x057C, 0x057D},   {0x0581, 0x0581},   {0x0585, 0x0585},   {0x13A0, 0x13FD},
    {0x1D00, 0x1D2F},   {0x2100, 0x214F},   {0x2160, 0x2188},   {0xA4D0, 0xA4FF},
    {0xAB30, 0xABBF},   {0xFF10, 0xFF19},   {0xFF21, 0xFF3A},   {0xFF41, 0xFF5A},
    {0x10400, 0x1044F}, {0x118A0, 0x118DF}, {0x1D400, 0x1D7FF}, {0x1FBF0, 0x1FBF9},
};

/* Signs that look like one of ASCII: in no word, and never harmless in code. Ascending. */
static const struct code_points look_alike_signs[] = {
    {0x01C3, 0x01C3}, {0x02B9, 0x02BD}, {0x02C2, 0x02CD}, {0x02D0, 0x02D0}, {0x02DC, 0x02DC},
    {0x037E, 0x037E}, {0x0387, 0x0387}, {0x0589, 0x058A}, {0x05C0, 0x05C3}, {0x05F3, 0x05F4},
    {0x066A, 0x066D}, {0x1680, 0x1680}, {0x2010, 0x2015}, {0x2018, 0x201F}, {0x2024, 0x2024},
    {0x2032, 0x2037}, {0x2039, 0x203A}, {0x2044, 0x2044}, {0x204E, 0x204F}, {0x2052, 0x2053},
    {0x2212, 0x2212}, {0x2215, 0x2217}, {0x2223, 0x2223}, {0x2236, 0x2236}, {0x223C, 0x223C},
    {0x2758, 0x2758}, {0x276E, 0x276F}, {0x2795, 0x2796}, {0x29F8, 0x29F9}, {0xA789, 0xA78A},
    {0xFE50, 0xFE6B}, {0xFF01, 0xFF0F}, {0xFF1A, 0xFF20}, {0xFF3B, 0xFF40}, {0xFF5B, 0xFF5E},
};

static bool is_look_alike_letter(uint32_t code_point)
{
    return is_in_ranges(look_alike_letters, COUNT_OF(look_alike_letters), code_point);
}

static bool is_look_alike_sign(uint32_t code_point)
{
    return is_in_ranges(look_alike_signs, COUNT_OF(look_alike_signs), code_point);
}

static bool is_ascii_letter(uint32_t code_point)
{
    return (code_point >= 'A' && code_point <= 'Z') || (code_point >= 'a' && code_point <= 'z');
}

static bool is_of_word(uint32_t code_point)
{
    if (code_point < 0x80)
        return is_ascii_letter(code_point) || (code_point >= '0' && code_point <= '9') ||
               code_point == '_';
    return is_plainly_visible(code_point) && !is_look_alike_sign(code_point);
}

/* Latin with accents counts as Latin: a word with one of its letters is read as such. */
static bool is_latin(uint32_t code_point)
{
    return is_ascii_letter(code_point) || (code_point >= 0xC0 && code_point <= 0x24F);
}

/* The word that text begins with; of no bytes where it begins with something else. */
static struct escape_words read_word(const char *text, size_t length)
{
    struct escape_words word = {0};
    bool latin = false;
    bool other = false;
    while (word.left < length) {
        uint32_t code_point = 0;
        size_t bytes = decode(text + word.left, length - word.left, &code_point);
        if (bytes == 0 || !is_of_word(code_point))
            break;
        latin = latin || is_latin(code_point);
        other = other || (code_point >= 0x80 && !is_look_alike_letter(code_point));
        word.left += bytes;
    }
    word.is_latin = latin || !other;
    return word;
}

struct shown_character text_escape_next_of_words(struct escape_words *words, const char *text,
                                                 size_t length)
{
    uint32_t code_point = 0;
    if (words->left == 0)
        *words = read_word(text, length);
    struct shown_character shown = show_next(text, length);
    bool alike = decode(text, length, &code_point) > 0 &&
                 (is_look_alike_sign(code_point) ||
                  (words->left > 0 && words->is_latin && is_look_alike_letter(code_point)));
    if (alike)
        show_number(&shown, code_point);
    words->left -= shown.consumed < words->left ? shown.consumed : words->left;
    return shown;
}

void text_escape_write(FILE *out, const char *text, size_t length)
{
    while (length > 0) {
        struct shown_character shown = show_next(text, length);
        (void)fputs(shown.text, out);
        text += shown.consumed;
        length -= shown.consumed;
    }
}
