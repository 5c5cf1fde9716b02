/* SPDX-License-Identifier: Apache-2.0 */
/* The vocabulary of checkpoints: see checkpoint.h. Pure code, any thread. */
#include "protocol/checkpoint.h"

#include <string.h>

static const char *const names[CHECKPOINT_WORD_COUNT] = {
#define X(constant, name) name,
    CHECKPOINT_WORDS(X)
#undef X
};

bool checkpoint_word_is_taken(enum checkpoint_word word)
{
    return word == CHECKPOINT_TAKEN || word == CHECKPOINT_EXPOSED;
}

const char *checkpoint_word_name(enum checkpoint_word word)
{
    return names[word];
}

enum checkpoint_word checkpoint_word_named(const char *name)
{
    unsigned word = 0;
    while (word < CHECKPOINT_WORD_COUNT && strcmp(names[word], name) != 0)
        word++;
    return (enum checkpoint_word)word;
}
