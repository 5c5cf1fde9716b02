/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean" for words of the command line. Pure code, any thread. */
#pragma once

#include <stddef.h>

/* The candidates: the index-th word, NULL behind the last one. */
typedef const char *suggestion_word(const void *words, size_t index);

/* The one that the given word was probably meant to be: it is misspelt by a few letters, or only
 * the beginning or the end of a name that is made of parts. NULL where none is near, or several
 * are. */
const char *suggestion_find(const char *word, suggestion_word *at, const void *words);
