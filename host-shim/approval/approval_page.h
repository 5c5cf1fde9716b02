/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows on which a person sees a request. Untrusted text is escaped and stands behind a gutter,
 * so that none of it begins a row. Pure code, any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "approval/approval.h"

#define PAGE_LABEL_WIDTH 14
#define PAGE_COLUMNS     400u /* at most */

struct page {
    FILE *out;
    unsigned columns;
    unsigned row_limit;
    unsigned rows; /* of the text being written */
    size_t hidden; /* lines left out, of all texts */
};

/* A text of many lines, numbered. */
void page_listing(struct page *page, const char *label, const char *text, size_t length);
/* A value of one line; line breaks in it are escaped like any other control character. */
void page_line(struct page *page, const char *label, const char *text, size_t length);
