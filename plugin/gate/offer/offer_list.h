/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a caller can name in a member of the schema, in the description that models read: a line
 * each, as far as they fit. One thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define OFFER_LIST_MOST 8192 /* bytes of a description */

struct offer_list {
    char text[OFFER_LIST_MOST];
    size_t limit; /* bytes of it, of which the last ones are for the line about those left out */
    size_t reserve;
    size_t length;
    size_t left_out;
};

/* Begins with the member's own description. */
void offer_list_begin(struct offer_list *list, const json_t *member, size_t limit, size_t reserve);
/* line: with its line break ahead. Once one does not fit, none does. */
void offer_list_add(struct offer_list *list, const char *line);
/* Sets the member's description. more: the words behind the number of those left out. false: no
 * memory. */
bool offer_list_end(struct offer_list *list, const char *more, json_t *member);
