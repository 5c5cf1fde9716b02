/* SPDX-License-Identifier: Apache-2.0 */
/* The styles, as a table. Runs in the gateway, on the thread inside tool_invoke(). */
#include "redaction/redaction_encoding.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"

#define REPLACEMENTS_LIMIT 12

/* Control characters, and bytes beyond ASCII where a style replaces them. */
enum numbers { AS_THEY_ARE, HEX_LOWER, HEX_UPPER, OCTAL };

/* Characters beyond ASCII. */
enum wide {
    KEEP_ALL,
    KEEP_PRINTABLE, /* Python's str.isprintable() */
    KEEP_BUT_C1,    /* U+0080 to U+009F are numbers */
    AS_CHARACTERS,  /* by their code point: \xe4, \u20ac, \U0001f600 */
    AS_BYTES,       /* each byte of them a number */
};

struct replacement {
    char from;
    const char *to;
};

struct style {
    struct replacement replacements[REPLACEMENTS_LIMIT]; /* the last has no text */
    const char *backslashed;                             /* characters that get a backslash */
    enum numbers numbers;
    enum wide wide;
    bool quotes_in_runs; /* dash puts each run of ' between one pair of " */
};

#define NOTHING    \
    {              \
        '\0', NULL \
    }
#define PYTHON_ESCAPES                            \
    {'\\', "\\\\"}, {'\n', "\\n"}, {'\r', "\\r"}, \
    {                                             \
        '\t', "\\t"                               \
    }
#define NODE_ESCAPES               \
    PYTHON_ESCAPES, {'\b', "\\b"}, \
    {                              \
        '\f', "\\f"                \
    }
#define BASH_ESCAPES                            \
    NODE_ESCAPES, {'\a', "\\a"}, {'\v', "\\v"}, \
    {                                           \
        '\x1B', "\\E"                           \
    }
#define HTML_ESCAPES               \
    {'&', "&amp;"}, {'<', "&lt;"}, \
    {                              \
        '>', "&gt;"                \
    }

/* clang-format off */
static const struct style styles[] = {
    /* Python chooses the outer quote, so ' is escaped or not: repr(), ascii(), repr() of bytes. */
    {{PYTHON_ESCAPES}, "",  HEX_LOWER, KEEP_PRINTABLE, false},
    {{PYTHON_ESCAPES}, "'", HEX_LOWER, KEEP_PRINTABLE, false},
    {{PYTHON_ESCAPES}, "",  HEX_LOWER, AS_CHARACTERS, false},
    {{PYTHON_ESCAPES}, "'", HEX_LOWER, AS_CHARACTERS, false},
    {{PYTHON_ESCAPES}, "",  HEX_LOWER, AS_BYTES, false},
    {{PYTHON_ESCAPES}, "'", HEX_LOWER, AS_BYTES, false},
    /* util.inspect(), as console.log() shows texts inside objects. */
    {{NODE_ESCAPES}, "",  HEX_UPPER, KEEP_BUT_C1, false},
    {{NODE_ESCAPES}, "'", HEX_UPPER, KEEP_BUT_C1, false},
    /* bash: $'...' of set -x, declare -p and printf %q, in a UTF-8 locale and in "C". */
    {{BASH_ESCAPES}, "'", OCTAL, KEEP_BUT_C1, false},
    {{BASH_ESCAPES}, "'", OCTAL, AS_BYTES, false},
    /* bash: '...' of set -x, "..." of export -p and declare -p, printf %q. */
    {{{'\'', "'\\''"}}, "", AS_THEY_ARE, KEEP_ALL, false},
    {{NOTHING}, "\"$`\\", AS_THEY_ARE, KEEP_ALL, false},
    {{NOTHING}, " !\"$&'()*,;<>?[\\]^`{|}", AS_THEY_ARE, KEEP_ALL, false},
    /* shlex.quote(); export -p and set of dash. */
    {{{'\'', "'\"'\"'"}}, "", AS_THEY_ARE, KEEP_ALL, false},
    {{NOTHING}, "", AS_THEY_ARE, KEEP_ALL, true},
    /* html.escape(quote=False) and saxutils.escape(); html.escape(); htmlspecialchars() of PHP; Go, Jinja. */
    {{HTML_ESCAPES}, "", AS_THEY_ARE, KEEP_ALL, false},
    {{HTML_ESCAPES, {'"', "&quot;"}, {'\'', "&#x27;"}}, "", AS_THEY_ARE, KEEP_ALL, false},
    {{HTML_ESCAPES, {'"', "&quot;"}, {'\'', "&#039;"}}, "", AS_THEY_ARE, KEEP_ALL, false},
    {{HTML_ESCAPES, {'"', "&#34;"}, {'\'', "&#39;"}}, "", AS_THEY_ARE, KEEP_ALL, false},
    /* Data::Dumper of Perl, var_export() of PHP. */
    {{NOTHING}, "'\\", AS_THEY_ARE, KEEP_ALL, false},
};
/* clang-format on */
static_assert(COUNT_OF(styles) == QUOTING_STYLES, "the header says how many there are");

/* What str.isprintable() says no to, of what has been assigned for long: controls, spaces but the
 * ordinary one, invisible format characters, private use. */
static const struct {
    uint32_t first, last;
} unprintable[] = {
    {0x80, 0xA0},     {0xAD, 0xAD},     {0x600, 0x605},   {0x61C, 0x61C},      {0x1680, 0x1680},
    {0x180E, 0x180E}, {0x2000, 0x200F}, {0x2028, 0x202F}, {0x205F, 0x206F},    {0x3000, 0x3000},
    {0xE000, 0xF8FF}, {0xFEFF, 0xFEFF}, {0xFFF0, 0xFFFB}, {0xE0000, 0x10FFFF},
};

static bool is_printable(uint32_t point)
{
    for (size_t i = 0; i < COUNT_OF(unprintable); i++)
        if (point >= unprintable[i].first && point <= unprintable[i].last)
            return false;
    return true;
}

/* The sequence is valid. */
static uint32_t code_point(const unsigned char *bytes, size_t length)
{
    uint32_t point = bytes[0] & (0xFFu >> (length + 1));
    for (size_t i = 1; i < length; i++)
        point = point << 6 | (bytes[i] & 0x3Fu);
    return point;
}

static size_t put_digits(char letter, uint32_t value, size_t digits, char *text)
{
    text[0] = '\\';
    text[1] = letter;
    for (size_t i = 0; i < digits; i++)
        text[2 + i] = "0123456789abcdef"[value >> 4 * (digits - 1 - i) & 0xF];
    return 2 + digits;
}

static size_t put_code_point(uint32_t point, char *text)
{
    if (point < 0x100)
        return put_digits('x', point, 2, text);
    return point < 0x10000 ? put_digits('u', point, 4, text) : put_digits('U', point, 8, text);
}

static size_t put_byte(unsigned char byte, enum numbers numbers, char *text)
{
    const char *digits = numbers == HEX_UPPER ? "0123456789ABCDEF" : "0123456789abcdef";
    if (numbers == AS_THEY_ARE) {
        memcpy(text, &byte, 1);
        return 1;
    }
    const size_t places[] = {byte >> 6, byte >> 3 & 7, byte & 7};
    text[0] = '\\';
    if (numbers == OCTAL) {
        for (size_t i = 0; i < COUNT_OF(places); i++)
            text[1 + i] = digits[places[i]];
    } else {
        text[1] = 'x';
        text[2] = digits[byte >> 4];
        text[3] = digits[byte & 0xF];
    }
    return 4;
}

static size_t put_bytes(const unsigned char *bytes, size_t length, enum numbers numbers, char *text)
{
    size_t size = 0;
    for (size_t i = 0; i < length; i++)
        size += put_byte(bytes[i], numbers, text + size);
    return size;
}

static size_t put_wide(const unsigned char *bytes, size_t length, const struct style *style,
                       char *text)
{
    uint32_t point = code_point(bytes, length);
    bool is_c1 = point < 0xA0;
    bool by_character =
        style->wide == AS_CHARACTERS || (style->wide == KEEP_PRINTABLE && !is_printable(point));
    if (by_character)
        return put_code_point(point, text);
    if (style->wide == KEEP_BUT_C1 && is_c1 && style->numbers == HEX_UPPER)
        return put_byte((unsigned char)point, HEX_UPPER, text);
    bool as_numbers = style->wide == AS_BYTES || (style->wide == KEEP_BUT_C1 && is_c1);
    return put_bytes(bytes, length, as_numbers ? style->numbers : AS_THEY_ARE, text);
}

/* A byte that belongs to no character. */
static size_t put_stray(unsigned char byte, const struct style *style, char *text)
{
    if (style->wide == KEEP_PRINTABLE || style->wide == AS_CHARACTERS)
        return put_code_point(0xDC00u | byte, text); /* Python's surrogateescape */
    return put_byte(byte, style->wide == KEEP_ALL ? AS_THEY_ARE : style->numbers, text);
}

static size_t put_ascii(unsigned char byte, const struct style *style, char *text)
{
    for (const struct replacement *one = style->replacements; one->to; one++) {
        if ((unsigned char)one->from != byte)
            continue;
        size_t size = strlen(one->to);
        memcpy(text, one->to, size);
        return size;
    }
    if (byte != '\0' && strchr(style->backslashed, byte)) {
        text[0] = '\\';
        text[1] = (char)byte;
        return 2;
    }
    return put_byte(byte, byte < 0x20 || byte == 0x7F ? style->numbers : AS_THEY_ARE, text);
}

/* '"'''"' for a run of three. What dash leaves out at the end of a literal is left out here. */
static size_t quote_runs(const unsigned char *value, size_t length, char *text)
{
    size_t size = 0;
    for (size_t i = 0; i < length; i++) {
        bool is_quote = value[i] == '\'';
        if (is_quote && (i == 0 || value[i - 1] != '\'')) {
            text[size++] = '\'';
            text[size++] = '"';
        }
        text[size++] = (char)value[i];
        if (!is_quote || (i + 1 < length && value[i + 1] == '\''))
            continue;
        text[size++] = '"';
        if (i + 1 < length)
            text[size++] = '\'';
    }
    return size;
}

size_t redaction_quote(const unsigned char *value, size_t length, size_t style, char *text)
{
    const struct style *chosen = &styles[style];
    size_t size = 0;
    if (chosen->quotes_in_runs)
        return quote_runs(value, length, text);
    for (size_t i = 0; i < length;) {
        size_t sequence = utf8_sequence(value + i, length - i);
        if (sequence > 1)
            size += put_wide(value + i, sequence, chosen, text + size);
        else if (sequence == 1)
            size += put_ascii(value[i], chosen, text + size);
        else
            size += put_stray(value[i], chosen, text + size);
        i += sequence > 0 ? sequence : 1;
    }
    return size;
}
