/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the names of outcomes: see preparation_outcome.h. */
#include "preparation_outcome.h"

#include <stdio.h>
#include <string.h>

static const char *const names[PREPARATION_COUNT] = {
#define X(constant, name) name,
    PREPARATION_OUTCOMES(X)
#undef X
};

const char *preparation_name(enum preparation_kind kind)
{
    return names[kind];
}

void preparation_set(struct preparation_outcome *outcome, enum preparation_kind kind,
                     const char *detail)
{
    outcome->kind = kind;
    (void)snprintf(outcome->detail, sizeof(outcome->detail), "%s", detail);
}

size_t preparation_write(char first, enum preparation_kind kind, const char *detail,
                         char ret[PREPARATION_WORDS])
{
    (void)snprintf(ret, PREPARATION_WORDS, "%c%s %s", first, names[kind], detail);
    return strlen(ret);
}

void preparation_read(const char *text, size_t length, struct preparation_outcome *ret)
{
    const char *space = memchr(text, ' ', length);
    size_t name_length = space ? (size_t)(space - text) : length;
    size_t rest = length - name_length - (space ? 1 : 0);
    if (rest >= sizeof(ret->detail))
        rest = sizeof(ret->detail) - 1;
    *ret = (struct preparation_outcome){.kind = PREPARATION_FAILED};
    for (uint32_t kind = 0; kind < PREPARATION_COUNT; kind++)
        if (strlen(names[kind]) == name_length && strncmp(names[kind], text, name_length) == 0)
            ret->kind = kind;
    if (space)
        memcpy(ret->detail, space + 1, rest);
}
