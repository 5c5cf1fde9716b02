/* SPDX-License-Identifier: Apache-2.0 */
/* Words, signs and strings of a program: their places are in it, there are not more of them than it
 * has bytes twice over, and an empty line in front of it makes no other difference. The first byte
 * chooses the language. */
#include <string.h>

#include "../../plugin/cleanup.h"
#include "../../plugin/content_scan.h"
#include "fuzz.h"

struct seen {
    size_t count;
    uint64_t hash; /* FNV-1a of the tokens and their places */
    uint32_t shift;
    uint32_t lines;
};

static void mix(struct seen *seen, uint64_t value)
{
    seen->hash = (seen->hash ^ value) * UINT64_C(0x100000001B3);
}

static void take(void *user, const struct content_token *token)
{
    struct seen *seen = user;
    seen->count++;
    MUST(token->length > 0 && token->length <= CONTENT_TOKEN_LIMIT);
    MUST(token->line > seen->shift && token->line <= seen->lines && token->column > 0);
    mix(seen, token->line - seen->shift);
    mix(seen, token->column);
    for (size_t i = 0; i < token->length; i++)
        mix(seen, (unsigned char)token->text[i]);
}

static struct seen scan(const struct content_syntax *syntax, const char *text, size_t length,
                        uint32_t shift)
{
    struct seen seen = {.shift = shift, .lines = 1};
    uint32_t line = 0;
    uint32_t column = 0;
    for (size_t i = 0; i < length; i++)
        seen.lines += text[i] == '\n';
    bool whole = content_scan(syntax, text, length, take, &seen, &line, &column);
    MUST(whole == (line == 0));
    MUST(line <= seen.lines && (whole || line > shift));
    mix(&seen, whole ? 0 : line - shift);
    MUST(seen.count <= 2 * length + 2);
    return seen;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"javascript", "sh", "ruby", "php", "perl", "lua", "r"};
    if (size == 0)
        return 0;
    const struct content_syntax *syntax = content_syntax_find(names[data[0] % COUNT_OF(names)]);
    CLEANUP_FREE char *text = malloc(size + 1); /* a line more */
    CLEANUP_FREE char *exact = malloc(size);
    MUST(text != NULL && exact != NULL);
    text[0] = '\n';
    memcpy(text + 1, data + 1, size - 1);
    memcpy(exact, data + 1, size - 1);
    struct seen alone = scan(syntax, exact, size - 1, 0);
    struct seen behind = scan(syntax, text, size, 1);
    MUST(alone.count == behind.count && alone.hash == behind.hash);
    return 0;
}
