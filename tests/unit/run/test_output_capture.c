/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_capture against a reference that keeps everything: every small limit, every small total,
 * random chunks, copied and in place; and a buffer that cannot grow.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "../support/random.h"
#include "base/cleanup.h"
#include "base/utf8.h"
#include "run/output_capture.h"
#include "tap_suite.h"

#define LIMITS       65
#define TOTAL        200
#define TEXT_LIMIT   (TOTAL + 80)
#define LARGE_LIMIT  10000
#define LARGE_OUTPUT 50000

void *__real_realloc(void *pointer, size_t size);
void *__wrap_realloc(void *pointer, size_t size);

static size_t largest_block = SIZE_MAX; /* what realloc() still gives */

void *__wrap_realloc(void *pointer, size_t size)
{
    return size <= largest_block ? __real_realloc(pointer, size) : NULL;
}

/* Characters of every length, so that cuts go through them. */
static void fill(unsigned char *bytes, size_t length)
{
    static const char text[] = "a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80-";
    for (size_t i = 0; i < length; i++)
        bytes[i] = (unsigned char)text[i % (sizeof(text) - 1)];
}

/* The definition, from the whole output: what it should look like before invalid bytes (the output
 * may end inside a character) are replaced. */
static size_t reference(const unsigned char *bytes, size_t total, size_t limit,
                        unsigned char text[TEXT_LIMIT])
{
    if (limit == 0)
        return 0;
    if (total <= limit) {
        memcpy(text, bytes, total);
        return total;
    }
    size_t head = limit * OUTPUT_HEAD_PERCENT / 100;
    size_t tail_start = total - (limit - head);
    while (head > 0 && (bytes[head] & 0xC0) == 0x80)
        head--;
    while (tail_start < total && (bytes[tail_start] & 0xC0) == 0x80)
        tail_start++;
    memcpy(text, bytes, head);
    int marker = sprintf((char *)text + head, "\n[... %zu bytes omitted ...]\n", tail_start - head);
    memcpy(text + head + marker, bytes + tail_start, total - tail_start);
    return head + (size_t)marker + total - tail_start;
}

/* Up to length bytes; how many there was a place for. */
static size_t put_in_place(struct output_capture *capture, const unsigned char *bytes,
                           size_t length)
{
    struct iovec places[2];
    size_t put = 0;
    int count = output_capture_places(capture, places);
    for (int i = 0; i < count; i++) {
        size_t part = length - put < places[i].iov_len ? length - put : places[i].iov_len;
        memcpy(places[i].iov_base, bytes + put, part);
        put += part;
    }
    output_capture_put(capture, put);
    return put;
}

/* Copied or put in place, as it comes. */
static void add_in_chunks(struct output_capture *capture, const unsigned char *bytes, size_t total,
                          uint64_t *state)
{
    for (size_t done = 0; done < total;) {
        size_t count = 1 + random_below(state, 2 * LIMITS);
        count = count < total - done ? count : total - done;
        if (random_below(state, 2) == 0)
            count = put_in_place(capture, bytes + done, count);
        else
            output_capture_add(capture, bytes + done, count);
        done += count;
        ck_assert_uint_le(capture->capacity, capture->limit);
        ck_assert_uint_eq(capture->total, done);
    }
}

static void expect_text(const struct output_capture *capture, const unsigned char *wanted,
                        size_t wanted_length)
{
    size_t length = 0;
    bool replaced = false;
    bool wanted_replaced = false;
    CLEANUP_FREE char *text = output_capture_text(capture, &length, &replaced);
    CLEANUP_FREE char *clean =
        utf8_sanitize(wanted, wanted_length, &wanted_length, &wanted_replaced);
    ck_assert_ptr_nonnull(text);
    ck_assert_str_eq(text, clean);
    ck_assert_uint_eq(length, wanted_length);
    ck_assert_int_eq(replaced, wanted_replaced);
}

START_TEST(keeps_head_and_tail)
{
    uint64_t state = (uint64_t)_i + 1;
    unsigned char bytes[TOTAL];
    unsigned char wanted[TEXT_LIMIT];
    fill(bytes, sizeof(bytes));
    for (size_t total = 0; total <= TOTAL; total++) {
        CLEANUP(output_capture_clear) struct output_capture capture;
        output_capture_init(&capture, (size_t)_i);
        add_in_chunks(&capture, bytes, total, &state);
        ck_assert_int_eq(output_capture_truncated(&capture), total > (size_t)_i);
        size_t length = reference(bytes, total, (size_t)_i, wanted);
        expect_text(&capture, wanted, length);
    }
}
END_TEST

START_TEST(marks_bytes_that_are_not_utf8)
{
    CLEANUP(output_capture_clear) struct output_capture capture;
    output_capture_init(&capture, 10);
    output_capture_add(&capture, "a\x80\xFFz", 4);
    size_t length = 0;
    bool replaced = false;
    CLEANUP_FREE char *text = output_capture_text(&capture, &length, &replaced);
    ck_assert_str_eq(text, "a\xEF\xBF\xBD\xEF\xBF\xBDz");
    ck_assert(replaced);
}
END_TEST

/* The first block is there; the next, larger one is not. */
START_TEST(keeps_what_fits_when_out_of_memory)
{
    static unsigned char bytes[LARGE_OUTPUT];
    memset(bytes, 'x', sizeof(bytes));
    CLEANUP(output_capture_clear) struct output_capture capture;
    output_capture_init(&capture, LARGE_LIMIT);
    output_capture_add(&capture, "begin ", 6);
    size_t kept = capture.capacity;
    largest_block = kept;
    output_capture_add(&capture, bytes, sizeof(bytes));
    output_capture_add(&capture, "more", 4);
    largest_block = SIZE_MAX;
    ck_assert(capture.failed && output_capture_truncated(&capture));
    ck_assert_uint_eq(capture.total, 6 + sizeof(bytes) + 4);
    size_t length = 0;
    bool replaced = false;
    CLEANUP_FREE char *text = output_capture_text(&capture, &length, &replaced);
    char marker[64];
    (void)snprintf(marker, sizeof(marker), "xx\n[... %zu bytes omitted ...]\n",
                   sizeof(bytes) + 10 - kept);
    ck_assert_int_eq(strncmp(text, "begin xx", 8), 0);
    ck_assert_uint_eq(length, kept + strlen(marker) - 2);
    ck_assert_str_eq(text + kept - 2, marker);
}
END_TEST

START_TEST(holds_nothing_when_there_was_no_memory_at_all)
{
    CLEANUP(output_capture_clear) struct output_capture capture;
    output_capture_init(&capture, LARGE_LIMIT);
    largest_block = 0;
    output_capture_add(&capture, "lost", 4);
    largest_block = SIZE_MAX;
    output_capture_add(&capture, "lost", 4);
    ck_assert(output_capture_truncated(&capture));
    expect_text(&capture, (const unsigned char *)"", 0);
}
END_TEST

START_TEST(has_a_place_for_all_that_is_kept)
{
    static unsigned char bytes[LARGE_OUTPUT];
    CLEANUP(output_capture_clear) struct output_capture capture;
    output_capture_init(&capture, LARGE_LIMIT);
    ck_assert_uint_gt(put_in_place(&capture, bytes, sizeof(bytes)), 0);
    while (capture.total < LARGE_LIMIT)
        ck_assert_uint_gt(put_in_place(&capture, bytes, sizeof(bytes)), 0);
    ck_assert_uint_eq(capture.total, LARGE_LIMIT);
    size_t tail = LARGE_LIMIT - LARGE_LIMIT / 100 * OUTPUT_HEAD_PERCENT;
    ck_assert_uint_eq(put_in_place(&capture, bytes, 100), 100);
    ck_assert_uint_eq(put_in_place(&capture, bytes, sizeof(bytes)), tail);

    CLEANUP(output_capture_clear) struct output_capture none;
    output_capture_init(&none, 0);
    ck_assert_uint_eq(put_in_place(&none, bytes, 1), 0);
}
END_TEST

START_TEST(has_no_place_when_out_of_memory)
{
    static unsigned char bytes[LARGE_OUTPUT];
    CLEANUP(output_capture_clear) struct output_capture capture;
    output_capture_init(&capture, LARGE_LIMIT);
    size_t kept = put_in_place(&capture, bytes, sizeof(bytes));
    largest_block = kept;
    ck_assert_uint_eq(put_in_place(&capture, bytes, sizeof(bytes)), 0);
    largest_block = SIZE_MAX;
    ck_assert(capture.failed && !output_capture_truncated(&capture));
    output_capture_add(&capture, bytes, 1);
    ck_assert(output_capture_truncated(&capture));
    ck_assert_uint_eq(capture.total, kept + 1);
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("output_capture")};
    tcase_add_loop_test(cases[0], keeps_head_and_tail, 0, LIMITS);
    tcase_add_test(cases[0], marks_bytes_that_are_not_utf8);
    tcase_add_test(cases[0], keeps_what_fits_when_out_of_memory);
    tcase_add_test(cases[0], holds_nothing_when_there_was_no_memory_at_all);
    tcase_add_test(cases[0], has_a_place_for_all_that_is_kept);
    tcase_add_test(cases[0], has_no_place_when_out_of_memory);
    return run_suite("output_capture", cases, COUNT_OF(cases));
}
