/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Escaping of untrusted text for people. Every character that is not plainly visible is in the
 * table: showing one too many costs nothing, hiding one may cost the machine. Pure code, any
 * thread.
 */
#include "text_escape.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "cleanup.h"

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
    {0xD800, 0xF8FF},    /* surrogates, private use: the font decides what is seen */
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

static bool is_plainly_visible(uint32_t code_point)
{
    for (size_t i = 0; i < COUNT_OF(not_plainly_visible); i++) {
        if (code_point >= not_plainly_visible[i].first && code_point <= not_plainly_visible[i].last)
            return false;
    }
    return true;
}

static size_t sequence_length(unsigned char first)
{
    if (first < 0x80)
        return 1;
    if (first >= 0xC2 && first <= 0xDF)
        return 2;
    if (first >= 0xE0 && first <= 0xEF)
        return 3;
    return first >= 0xF0 && first <= 0xF4 ? 4 : 0;
}

/* The bytes of the sequence, or 0 when it is not UTF-8 (overlong forms included). */
static size_t decode(const char *text, size_t length, uint32_t *ret_code_point)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    static const unsigned char first_byte_bits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    size_t need = sequence_length((unsigned char)text[0]);
    if (need == 0 || need > length)
        return 0;
    uint32_t value = (unsigned char)text[0] & first_byte_bits[need];
    for (size_t i = 1; i < need; i++) {
        unsigned char byte = (unsigned char)text[i];
        if ((byte & 0xC0) != 0x80)
            return 0;
        value = (value << 6) | (byte & 0x3F);
    }
    if (value < smallest[need] || value > 0x10FFFF)
        return 0;
    *ret_code_point = value;
    return need;
}

struct shown_character text_escape_next(const char *text, size_t length)
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
        (void)snprintf(shown.text, sizeof(shown.text), "<U+%04X>", (unsigned)code_point);
        shown.columns = (unsigned)strlen(shown.text);
    }
    return shown;
}

void text_escape_write(FILE *out, const char *text, size_t length)
{
    while (length > 0) {
        struct shown_character shown = text_escape_next(text, length);
        (void)fputs(shown.text, out);
        text += shown.consumed;
        length -= shown.consumed;
    }
}
