/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The results of a program as they come over a stream: cut at every place, beyond every budget, and
 * with each allocation of ours failed once.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "../support/failing_memory.h"
#include "base/cleanup.h"
#include "results/results.h"
#include "tap_suite.h"

#define SECRET "sesame-open"
#define STREAM 4096

static const struct policy_results usual = {
    .max_items = 3, .text_bytes = 200, .image_bytes = 100, .total_bytes = 2000};

struct stream {
    unsigned char bytes[STREAM];
    size_t length;
};

static void add_header(struct stream *stream, uint32_t length, unsigned kind)
{
    for (int i = 0; i < 4; i++)
        stream->bytes[stream->length++] = (unsigned char)(length >> 8 * i);
    stream->bytes[stream->length++] = (unsigned char)kind;
}

static void add_frame(struct stream *stream, unsigned kind, const char *payload)
{
    size_t length = strlen(payload);
    add_header(stream, (uint32_t)length, kind);
    memcpy(stream->bytes + stream->length, payload, length);
    stream->length += length;
}

/* One of each kind, with a secret in each text; then one that breaks off. */
static struct stream usual_stream(void)
{
    struct stream stream = {.length = 0};
    add_frame(&stream, 1,
              "{\"role\":\"value\",\"data\":{\"text/plain\":\"a " SECRET
              "\",\"application/json\":{\"" SECRET "\":[\"" SECRET
              "\",1.5]}},\"table\":{\"x\":[\"" SECRET "\"]},\"type_name\":\"" SECRET "\"}");
    add_frame(&stream, 1,
              "{\"role\":\"display\",\"data\":{\"image/png\":\"iVBORw0KGgo=\",\"text/html\":"
              "\"<b>\"}}");
    add_frame(&stream, 2,
              "{\"name\":\"E\",\"value\":\"" SECRET "\",\"frames\":[{\"file\":\"" SECRET
              "\",\"line\":1,\"function\":null}]}");
    add_frame(&stream, 3, "{\"count\":2,\"bytes\":30,\"reason\":\"max_items\"}");
    add_header(&stream, 100, 1);
    return stream;
}

/* What came of a stream. */
struct seen {
    char *rows;
    char *exception;
    struct results_omitted omitted;
    size_t redacted;
    bool refused;
};

static void clear_seen(struct seen *seen)
{
    free(seen->rows);
    free(seen->exception);
}

static char *text_of(const struct results *results,
                     void (*write)(const struct results *, const char *, struct json_draft *))
{
    struct json_draft draft = {.order = JSON_ORDER_MADE};
    size_t length;
    write(results, NULL, &draft);
    return json_draft_take(&draft, &length);
}

static struct seen look(const struct results *results)
{
    PAUSE_FAILING_MEMORY;
    return (struct seen){
        .rows = text_of(results, results_write_rows),
        .exception = text_of(results, results_write_exception),
        .omitted = results->omitted,
        .redacted = results->redacted,
        .refused = results->refused,
    };
}

/* In pieces of that length, the first of them of the other one. */
static struct seen feed(const struct stream *stream, const struct policy_results *limits,
                        const struct redaction *redaction, size_t first, size_t piece)
{
    CLEANUP(results_clear) struct results results;
    results_init(&results, limits, redaction, "run");
    CLEANUP(frame_reader_clear)
    struct frame_reader reader = {.handler = results_handler(&results)};
    for (size_t at = 0; at < stream->length;) {
        size_t length = at == 0 && first > 0 ? first : piece;
        if (length > stream->length - at)
            length = stream->length - at;
        frame_reader_feed(&reader, stream->bytes + at, length);
        at += length;
    }
    results_end(&results, &reader);
    return look(&results);
}

static struct seen feed_whole(const struct stream *stream, const struct policy_results *limits)
{
    return feed(stream, limits, NULL, 0, STREAM);
}

static void are_same(const struct seen *one, const struct seen *other)
{
    ck_assert_str_eq(one->rows, other->rows);
    ck_assert_str_eq(one->exception, other->exception);
    ck_assert_uint_eq(one->omitted.count, other->omitted.count);
    ck_assert_uint_eq(one->omitted.reason, other->omitted.reason);
    ck_assert(one->refused == other->refused);
}

START_TEST(is_the_same_however_it_is_cut)
{
    const struct stream stream = usual_stream();
    CLEANUP(clear_seen) struct seen whole = feed_whole(&stream, &usual);
    ck_assert_ptr_nonnull(strstr(whole.rows, "\"image/png\""));
    ck_assert_ptr_nonnull(strstr(whole.exception, SECRET));
    ck_assert_uint_eq(whole.omitted.count, 3);
    for (size_t first = 0; first <= stream.length; first++) {
        CLEANUP(clear_seen) struct seen cut = feed(&stream, &usual, NULL, first, STREAM);
        are_same(&cut, &whole);
    }
    for (size_t piece = 1; piece < 20; piece++) {
        CLEANUP(clear_seen) struct seen cut = feed(&stream, &usual, NULL, 0, piece);
        are_same(&cut, &whole);
    }
}
END_TEST

static struct redaction *new_redaction(void)
{
    struct error error;
    struct redaction *redaction = redaction_new();
    ck_assert(redaction && redaction_add(redaction, "S", SECRET, strlen(SECRET), &error));
    return redaction;
}

static void free_redaction(struct redaction **redaction)
{
    redaction_free(*redaction);
}

START_TEST(no_text_has_a_secret)
{
    const struct stream stream = usual_stream();
    CLEANUP(free_redaction) struct redaction *redaction = new_redaction();
    CLEANUP(clear_seen) struct seen seen = feed(&stream, &usual, redaction, 0, STREAM);
    ck_assert_ptr_null(strstr(seen.rows, SECRET));
    ck_assert_ptr_null(strstr(seen.exception, SECRET));
    ck_assert_ptr_nonnull(strstr(seen.rows, "{\\\"[redacted:S]\\\":[\\\"[redacted:S]\\\",1.5]}"));
    ck_assert_ptr_null(strstr(seen.rows, "image/png"));
    ck_assert_ptr_nonnull(strstr(seen.rows, "<b>"));
    ck_assert(seen.omitted.reasons & 1u << RESULT_OMITTED_WITHHELD);
    ck_assert_uint_eq(seen.redacted, 7);
}
END_TEST

/* Labels are longer than short secrets: what they make of a text has a bound too. */
START_TEST(labels_take_no_more_than_the_budget)
{
    struct error error;
    struct stream stream = {.length = 0};
    CLEANUP(free_redaction) struct redaction *redaction = redaction_new();
    ck_assert(redaction && redaction_add(redaction, "LONG_NAME", "abcd", 4, &error));
    char payload[1200] = "{\"role\":\"value\",\"data\":{\"text/markdown\":\"";
    for (size_t i = 0; i < 40; i++)
        strcat(payload, "abcd");
    strcat(payload, "\"},\"table\":{\"x\":\"");
    for (size_t i = 0; i < 60; i++)
        strcat(payload, "abcd");
    strcat(payload, "\"}}");
    add_frame(&stream, 1, payload);
    CLEANUP(clear_seen) struct seen seen = feed(&stream, &usual, redaction, 0, STREAM);
    ck_assert_str_eq(seen.rows, "[]");
    ck_assert_uint_eq(seen.omitted.count, 1);
}
END_TEST

START_TEST(a_stream_that_is_none_is_dropped)
{
    static const struct {
        uint32_t length;
        unsigned kind;
    } bad[] = {{0, 0}, {0, 4}, {0, 255}, {RESULT_FRAME_LIMIT + 1, 1}, {UINT32_MAX, 1}};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct stream stream = {.length = 0};
        add_frame(&stream, 1, "{\"role\":\"value\",\"data\":{\"text/plain\":\"before\"}}");
        add_header(&stream, bad[i].length, bad[i].kind);
        add_frame(&stream, 1, "{\"role\":\"value\",\"data\":{\"text/plain\":\"behind\"}}");
        CLEANUP(clear_seen) struct seen seen = feed_whole(&stream, &usual);
        ck_assert(seen.refused);
        ck_assert_ptr_nonnull(strstr(seen.rows, "before"));
        ck_assert_ptr_null(strstr(seen.rows, "behind"));
    }
}
END_TEST

/* The length alone takes no memory. */
START_TEST(a_promised_payload_takes_no_memory)
{
    static const struct policy_results large = {
        .max_items = 1, .text_bytes = 1 << 20, .image_bytes = 1, .total_bytes = 64 << 20};
    CLEANUP(results_clear) struct results results;
    struct stream stream = {.length = 0};
    results_init(&results, &large, NULL, "run");
    CLEANUP(frame_reader_clear)
    struct frame_reader reader = {.handler = results_handler(&results)};
    add_header(&stream, 64 << 20, 1);
    stream.length++;
    frame_reader_feed(&reader, stream.bytes, stream.length);
    ck_assert_uint_le(reader.capacity, 4096);
    ck_assert(frame_reader_is_inside(&reader));
}
END_TEST

START_TEST(each_budget_holds)
{
    static const char item[] = "{\"role\":\"value\",\"data\":{\"text/plain\":\"12345\"}}";
    static const struct {
        struct policy_results limits;
        enum result_omission reason;
    } cases[] = {
        {{2, 100, 100, 1000, false}, RESULT_OMITTED_MAX_ITEMS},
        {{9, 2, 100, 1000, false}, RESULT_OMITTED_TEXT_BYTES},
        {{9, 100, 100, 110, false}, RESULT_OMITTED_TOTAL_BYTES},
    };
    struct stream stream = {.length = 0};
    for (int i = 0; i < 3; i++)
        add_frame(&stream, 1, item);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CLEANUP(clear_seen) struct seen seen = feed_whole(&stream, &cases[i].limits);
        ck_assert_uint_ge(seen.omitted.count, 1);
        ck_assert_uint_eq(seen.omitted.reason, cases[i].reason);
        ck_assert_uint_le(strlen(seen.rows), cases[i].limits.total_bytes + 2);
    }
}
END_TEST

/* Not within a character, and with all that a front end needs to see that it is not whole. */
START_TEST(a_long_text_keeps_its_beginning)
{
    static const struct {
        uint64_t limit;
        const char *rows;
    } cases[] = {
        {8, "\"text\":\"aéébcd\""}, /* it is whole */
        {6, "\"text\":\"aé...\",\"alternatives\":{\"text/"
            "html\":\"<b>\"},\"active\":true,\"truncated\":true}"},
        {5, "\"text\":\"a...\""},
        {3, "\"text\":\"...\""},
    };
    struct stream stream = {.length = 0};
    add_frame(&stream, 1,
              "{\"role\":\"value\",\"data\":{\"text/plain\":\"aéébcd\",\"text/html\":\"<b>\"}}");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct policy_results limits = usual;
        limits.text_bytes = cases[i].limit;
        CLEANUP(clear_seen) struct seen seen = feed_whole(&stream, &limits);
        ck_assert_msg(strstr(seen.rows, cases[i].rows), "%zu: %s", i, seen.rows);
        ck_assert_uint_eq(seen.omitted.count, i > 0);
    }
}
END_TEST

START_TEST(counts_do_not_overflow)
{
    struct stream stream = {.length = 0};
    for (int i = 0; i < 3; i++)
        add_frame(&stream, 3,
                  "{\"count\":9223372036854775807,\"bytes\":9223372036854775807,\"reason\":\"x\"}");
    CLEANUP(clear_seen) struct seen seen = feed_whole(&stream, &usual);
    ck_assert_uint_eq(seen.omitted.count, INT64_MAX);
    ck_assert_uint_eq(seen.omitted.bytes, INT64_MAX);
    ck_assert_uint_eq(seen.omitted.reason, RESULT_OMITTED_PROGRAM);
}
END_TEST

/* What is there is whole, what is not there is counted, and no secret comes through. */
START_TEST(each_lack_of_memory_loses_single_results)
{
    const struct stream stream = usual_stream();
    CLEANUP(free_redaction) struct redaction *redaction = new_redaction();
    CLEANUP(clear_seen) struct seen whole = feed(&stream, &usual, redaction, 0, 7);
    bool through = false;
    long failing = 0;
    for (; !through; failing++) {
        memory_left = failing;
        CLEANUP(clear_seen) struct seen seen = feed(&stream, &usual, redaction, 0, 7);
        through = memory_left >= 0;
        memory_left = -1;
        json_error_t error;
        json_auto_t *rows = json_loads(seen.rows, 0, &error);
        ck_assert_msg(json_is_array(rows), "%ld: %s", failing, seen.rows);
        ck_assert_ptr_null(strstr(seen.rows, SECRET));
        ck_assert(through || (seen.omitted.reasons & 1u << RESULT_OMITTED_MEMORY) ||
                  strcmp(seen.rows, whole.rows) == 0);
    }
    ck_assert_int_gt(failing, 10);
}
END_TEST

/* As feed_whole(), of a cell. */
static struct seen feed_cell(const struct stream *stream, struct cell_word *word,
                             json_t **ret_defined)
{
    CLEANUP(results_clear) struct results results;
    results_init(&results, &usual, NULL, "run");
    results.cell = word;
    CLEANUP(frame_reader_clear)
    struct frame_reader reader = {.handler = results_handler(&results)};
    frame_reader_feed(&reader, stream->bytes, stream->length);
    results_end(&results, &reader);
    *ret_defined = json_incref(results.defined);
    return look(&results);
}

/* Only a cell of a session ends so (a_stream_that_is_none_is_dropped for other runs), and once. */
START_TEST(a_cell_ends_with_its_frame)
{
    struct stream stream = {.length = 0};
    struct cell_word word = {.ended = false};
    json_auto_t *defined = NULL;
    add_frame(&stream, 1, "{\"role\":\"value\",\"data\":{\"text/plain\":\"before\"}}");
    add_frame(&stream, RESULT_FRAME_CELL, "{\"exit_code\":7,\"defined\":[\"x\",\"f\"]}");
    add_frame(&stream, RESULT_FRAME_CELL, "{\"exit_code\":0,\"defined\":[]}");
    CLEANUP(clear_seen) struct seen seen = feed_cell(&stream, &word, &defined);
    ck_assert(word.ended && !seen.refused);
    ck_assert_int_eq(word.exit_code, 7);
    ck_assert_uint_eq(json_array_size(defined), 2);
    ck_assert_str_eq(json_string_value(json_array_get(defined, 1)), "f");
    ck_assert_ptr_nonnull(strstr(seen.rows, "before"));
    ck_assert_uint_eq(seen.omitted.count, 0);
}
END_TEST

START_TEST(a_cell_that_says_nonsense_has_ended)
{
    static const struct {
        const char *payload;
        int exit_code;
        size_t names; /* SIZE_MAX: not said */
    } rows[] = {
        {"", 1, SIZE_MAX},
        {"{\"exit_code\":0", 1, SIZE_MAX},
        {"{\"exit_code\":0,\"defined\":[[[[[]]]]]}", 1, SIZE_MAX}, /* too deep */
        {"[]", 1, SIZE_MAX},
        {"{}", 1, 0},
        {"{\"exit_code\":-1,\"defined\":7}", 1, 0},
        {"{\"exit_code\":\"0\",\"defined\":{\"x\":1}}", 1, 0},
        {"{\"exit_code\":263,\"defined\":[\"x\",1,null,[],\"y\"]}", 7, 2}, /* as of a process */
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct stream stream = {.length = 0};
        struct cell_word word = {.ended = false};
        json_auto_t *defined = NULL;
        add_frame(&stream, RESULT_FRAME_CELL, rows[i].payload);
        CLEANUP(clear_seen) struct seen seen = feed_cell(&stream, &word, &defined);
        ck_assert_msg(word.ended && !seen.refused, "%zu", i);
        ck_assert_msg(word.exit_code == rows[i].exit_code, "%zu: %d", i, word.exit_code);
        ck_assert_msg((defined ? json_array_size(defined) : SIZE_MAX) == rows[i].names, "%zu", i);
    }
}
END_TEST

START_TEST(a_cell_says_whether_it_has_a_checkpoint)
{
    static const struct {
        const char *payload;
        enum checkpoint_word word;
    } rows[] = {
        {"{\"exit_code\":0,\"checkpoint\":\"taken\"}", CHECKPOINT_TAKEN},
        {"{\"exit_code\":0,\"checkpoint\":\"threads\"}", CHECKPOINT_THREADS},
        {"{\"exit_code\":0,\"checkpoint\":null}", CHECKPOINT_WORD_COUNT},
        {"{\"exit_code\":0,\"checkpoint\":\"\"}", CHECKPOINT_WORD_COUNT},
        {"{\"exit_code\":0,\"checkpoint\":[\"taken\"]}", CHECKPOINT_WORD_COUNT},
        {"{\"exit_code\":0}", CHECKPOINT_WORD_COUNT},
        {"[]", CHECKPOINT_WORD_COUNT},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct stream stream = {.length = 0};
        struct cell_word word = {.ended = false, .checkpoint = CHECKPOINT_TAKEN};
        json_auto_t *defined = NULL;
        add_frame(&stream, RESULT_FRAME_CELL, rows[i].payload);
        CLEANUP(clear_seen) struct seen seen = feed_cell(&stream, &word, &defined);
        ck_assert_msg(word.checkpoint == rows[i].word, "%zu: %d", i, (int)word.checkpoint);
        ck_assert_msg(!seen.refused, "%zu", i);
    }
}
END_TEST

/* Bytes that no stream of this file has room for. */
static void feed_names(struct results *results, size_t count, size_t length)
{
    json_auto_t *frame = json_pack("{s:i, s:[]}", "exit_code", 0, "defined");
    char name[128];
    memset(name, 'x', sizeof(name));
    for (size_t i = 0; i < count; i++)
        json_array_append_new(json_object_get(frame, "defined"), json_stringn(name, length));
    CLEANUP_FREE char *payload = json_dumps(frame, JSON_COMPACT);
    struct stream header = {.length = 0};
    CLEANUP(frame_reader_clear)
    struct frame_reader reader = {.handler = results_handler(results)};
    add_header(&header, (uint32_t)strlen(payload), RESULT_FRAME_CELL);
    frame_reader_feed(&reader, header.bytes, header.length);
    frame_reader_feed(&reader, (const unsigned char *)payload, strlen(payload));
}

START_TEST(a_cell_names_no_more_than_it_may)
{
    static const struct {
        size_t count, length, kept;
        bool refused;
    } rows[] = {
        {200, 100, 200, false}, {201, 100, 200, false}, {3, 101, 0, false},
        {300, 1, 200, false},   {2000, 100, 0, true},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CLEANUP(results_clear) struct results results;
        struct cell_word word = {.ended = false};
        results_init(&results, &usual, NULL, "run");
        results.cell = &word;
        feed_names(&results, rows[i].count, rows[i].length);
        ck_assert_msg(results.refused == rows[i].refused && word.ended == !rows[i].refused, "%zu",
                      i);
        ck_assert_uint_eq(json_array_size(results.defined), rows[i].kept);
    }
}
END_TEST

/* Where nothing else may come any more, the cell's end does. */
START_TEST(a_cells_end_is_in_no_budget)
{
    static const struct policy_results none = {
        .max_items = 0, .text_bytes = 0, .image_bytes = 0, .total_bytes = 0};
    CLEANUP(results_clear) struct results results;
    struct cell_word word = {.ended = false};
    results_init(&results, &none, NULL, "run");
    results.cell = &word;
    feed_names(&results, 200, 100);
    ck_assert(word.ended && !results.refused);
    ck_assert_int_eq(word.exit_code, 0);
    ck_assert_uint_eq(json_array_size(results.defined), 200);
    ck_assert_uint_eq(results.read, 0);
    ck_assert_uint_eq(results.omitted.count, 0);
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("results")};
    tcase_add_test(cases[0], is_the_same_however_it_is_cut);
    tcase_add_test(cases[0], no_text_has_a_secret);
    tcase_add_test(cases[0], labels_take_no_more_than_the_budget);
    tcase_add_test(cases[0], a_stream_that_is_none_is_dropped);
    tcase_add_test(cases[0], a_promised_payload_takes_no_memory);
    tcase_add_test(cases[0], each_budget_holds);
    tcase_add_test(cases[0], a_long_text_keeps_its_beginning);
    tcase_add_test(cases[0], counts_do_not_overflow);
    tcase_add_test(cases[0], each_lack_of_memory_loses_single_results);
    tcase_add_test(cases[0], a_cell_ends_with_its_frame);
    tcase_add_test(cases[0], a_cell_that_says_nonsense_has_ended);
    tcase_add_test(cases[0], a_cell_says_whether_it_has_a_checkpoint);
    tcase_add_test(cases[0], a_cell_names_no_more_than_it_may);
    tcase_add_test(cases[0], a_cells_end_is_in_no_budget);
    return run_suite("results", cases, COUNT_OF(cases));
}
