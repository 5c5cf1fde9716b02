/* SPDX-License-Identifier: Apache-2.0 */
/* Writes untrusted text behind a gutter. Pure code, any thread. */
#include "approval/approval_page.h"

#include <string.h>

#include "base/text_escape.h"

#define LONGEST_SHOWN   16u /* columns of the widest escaped character */
#define LINE_NUMBER_GAP 10u /* "  1234 | " */

static bool page_is_full(const struct page *page)
{
    return page->row_limit != APPROVAL_SHOW_ALL && page->rows >= page->row_limit;
}

/* One line of untrusted text on as many rows as it needs; the first row's gutter is already
 * written. false when the page ended before the line did. */
static bool write_rows(struct page *page, const char *text, size_t length, unsigned gutter_columns,
                       const char *next_gutter)
{
    unsigned room = page->columns > gutter_columns + LONGEST_SHOWN ? page->columns - gutter_columns
                                                                   : LONGEST_SHOWN;
    unsigned used = 0;
    bool whole = true;
    struct escape_words words = {0};
    while (length > 0) {
        struct shown_character shown = text_escape_next_of_words(&words, text, length);
        if (used + shown.columns > room) {
            page->rows++;
            whole = !page_is_full(page);
            if (!whole)
                break;
            (void)fprintf(page->out, "\n%s", next_gutter);
            used = 0;
        }
        (void)fputs(shown.text, page->out);
        used += shown.columns;
        text += shown.consumed;
        length -= shown.consumed;
    }
    page->rows++;
    (void)fputc('\n', page->out);
    return whole;
}

static size_t count_lines(const char *text, size_t length)
{
    size_t lines = 0;
    while (length > 0) {
        const char *end = memchr(text, '\n', length);
        size_t taken = end ? (size_t)(end - text) + 1 : length;
        text += taken;
        length -= taken;
        lines++;
    }
    return lines;
}

static void write_hidden(struct page *page, size_t lines)
{
    if (lines == 0)
        return;
    page->hidden += lines;
    (void)fprintf(page->out, "         ... %zu more line%s not shown\n", lines,
                  lines == 1 ? "" : "s");
}

void page_listing(struct page *page, const char *label, const char *text, size_t length)
{
    page->rows = 0;
    size_t lines = count_lines(text, length);
    (void)fprintf(page->out, "  %s (%zu line%s, %zu bytes)\n", label, lines, lines == 1 ? "" : "s",
                  length);
    for (size_t number = 1; length > 0; number++) {
        if (page_is_full(page)) {
            write_hidden(page, lines - number + 1);
            return;
        }
        const char *end = memchr(text, '\n', length);
        size_t line_length = end ? (size_t)(end - text) : length;
        (void)fprintf(page->out, "  %5zu | ", number);
        if (!write_rows(page, text, line_length, LINE_NUMBER_GAP, "        | ")) {
            write_hidden(page, lines - number + 1);
            return;
        }
        size_t taken = end ? line_length + 1 : length;
        text += taken;
        length -= taken;
    }
}

void page_line(struct page *page, const char *label, const char *text, size_t length)
{
    page->rows = 0;
    (void)fprintf(page->out, "  %-*s| ", PAGE_LABEL_WIDTH, label);
    if (!write_rows(page, text, length, PAGE_LABEL_WIDTH + 4, "                | "))
        write_hidden(page, 1);
}
