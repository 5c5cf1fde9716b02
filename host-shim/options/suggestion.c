/* SPDX-License-Identifier: Apache-2.0 */
/* Nearest words by edit distance. Pure code, any thread. */
#include "options/options_help.h"

#include <stdbool.h>
#include <string.h>

#define LONGEST 64u
#define FAR     1000u

static size_t least(size_t one, size_t other)
{
    return one < other ? one : other;
}

/* How many letters are to be inserted, left out, replaced or exchanged with their neighbour
 * (optimal string alignment). */
static size_t distance(const char *one, const char *other)
{
    size_t rows = strlen(one);
    size_t columns = strlen(other);
    size_t table[LONGEST + 1][LONGEST + 1];
    if (rows > LONGEST || columns > LONGEST)
        return FAR;
    for (size_t i = 0; i <= rows; i++) {
        for (size_t j = 0; j <= columns; j++) {
            if (i == 0 || j == 0) {
                table[i][j] = i + j;
                continue;
            }
            size_t replaced = table[i - 1][j - 1] + (one[i - 1] != other[j - 1]);
            table[i][j] = least(replaced, least(table[i - 1][j], table[i][j - 1]) + 1);
            if (i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1])
                table[i][j] = least(table[i][j], table[i - 2][j - 2] + 1);
        }
    }
    return table[rows][columns];
}

static bool is_part(char before)
{
    return before == '-' || before == '.';
}

/* "timeout" of "timeout-ms", "files" of "sandbox.exec.files". */
static bool is_begin_or_end(const char *word, const char *name)
{
    size_t length = strlen(word);
    size_t whole = strlen(name);
    if (length < 3 || length >= whole)
        return false;
    if (strncmp(name, word, length) == 0)
        return true;
    return strcmp(name + whole - length, word) == 0 && is_part(name[whole - length - 1]);
}

const char *suggestion_find(const char *word, suggestion_word *at, const void *words)
{
    size_t allowed = 1 + strlen(word) / 4;
    size_t nearest = FAR;
    const char *found = NULL;
    bool several = false;
    const char *name = NULL;
    for (size_t i = 0; (name = at(words, i)) != NULL; i++) {
        size_t far = is_begin_or_end(word, name) ? allowed : distance(word, name);
        if (far > allowed || far > nearest || far >= strlen(name))
            continue;
        if (found && far == nearest && strncmp(name, found, strlen(found)) == 0)
            continue; /* "timeout" rather than "timeout-ms" */
        several = far == nearest;
        nearest = far;
        found = name;
    }
    return several ? NULL : found;
}
