/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program sends as its results. Whatever the cuts, the rows are the same; they are JSON, fit
 * the budgets, and hold no secret. The first line cuts the stream. The rest is the stream, once as
 * it is and once as the payload of a result, of a run and of a session's cell.
 */
#include <jansson.h>

#include "base/cleanup.h"
#include "fuzz.h"
#include "results/results.h"

#define SECRET "sesame"

static const struct policy_results limits = {
    .max_items = 4, .text_bytes = 64, .image_bytes = 64, .total_bytes = 4096};
static struct redaction *redaction;

static void make_redaction(void)
{
    struct error error;
    redaction = redaction_new();
    MUST(redaction && redaction_add(redaction, "S", SECRET, strlen(SECRET), &error));
}

/* The rows and the exception, new. */
struct seen {
    char *rows;
    char *exception;
    struct results_omitted omitted;
    bool refused;
    struct cell_word word; /* of a cell */
};

static char *text_of(const struct results *results,
                     void (*write)(const struct results *, const char *, struct json_draft *))
{
    struct json_draft draft = {.order = JSON_ORDER_MADE};
    size_t length;
    write(results, NULL, &draft);
    char *text = json_draft_take(&draft, &length);
    MUST(text != NULL);
    return text;
}

static struct seen feed(const struct fuzz_input *input, bool whole, bool is_cell)
{
    struct cell_word word = {.ended = false};
    CLEANUP(results_clear) struct results results;
    results_init(&results, &limits, redaction, "run");
    results.cell = is_cell ? &word : NULL;
    CLEANUP(frame_reader_clear)
    struct frame_reader reader = {.handler = results_handler(&results)};
    for (size_t at = 0, i = 0; at < input->length; i++) {
        size_t left = input->length - at;
        size_t length = whole ? left : fuzz_slice(input, i, left);
        uint8_t *slice = fuzz_exact(input->bytes + at, length);
        frame_reader_feed(&reader, slice, length);
        MUST(is_cell ||
             (reader.filled <= limits.total_bytes && reader.capacity <= limits.total_bytes));
        free(slice);
        at += length;
    }
    results_end(&results, &reader);
    MUST(results.row_count <= limits.max_items && results.rows.length <= limits.total_bytes);
    MUST(word.exit_code >= 0 && word.exit_code <= 255 && (word.ended || !results.defined));
    return (struct seen){
        .rows = text_of(&results, results_write_rows),
        .exception = text_of(&results, results_write_exception),
        .omitted = results.omitted,
        .refused = results.refused,
        .word = word,
    };
}

static void must_be_good(const struct seen *seen)
{
    json_auto_t *rows = json_loads(seen->rows, 0, NULL);
    json_auto_t *exception = json_loads(seen->exception, 0, NULL);
    MUST(json_is_array(rows) && (exception || seen->exception[0] == '\0'));
    MUST(!strstr(seen->rows, SECRET) && !strstr(seen->exception, SECRET));
}

static void try_stream_of(const struct fuzz_input *input, bool is_cell)
{
    struct seen whole = feed(input, true, is_cell);
    struct seen cut = feed(input, false, is_cell);
    must_be_good(&whole);
    MUST(strcmp(whole.rows, cut.rows) == 0 && strcmp(whole.exception, cut.exception) == 0);
    MUST(whole.omitted.count == cut.omitted.count && whole.omitted.bytes == cut.omitted.bytes);
    MUST(whole.refused == cut.refused);
    MUST(whole.word.ended == cut.word.ended && whole.word.exit_code == cut.word.exit_code);
    free(whole.rows);
    free(whole.exception);
    free(cut.rows);
    free(cut.exception);
}

static void try_stream(const struct fuzz_input *input)
{
    try_stream_of(input, false);
    try_stream_of(input, true);
}

static void try_payload(const struct fuzz_input *input, uint8_t kind)
{
    struct fuzz_input framed = *input;
    framed.length = FRAME_HEADER_LENGTH + input->length;
    CLEANUP_FREE uint8_t *bytes = malloc(framed.length);
    MUST(bytes != NULL);
    for (size_t i = 0; i < FRAME_HEADER_LENGTH - 1; i++)
        bytes[i] = (uint8_t)(input->length >> 8 * i);
    bytes[FRAME_HEADER_LENGTH - 1] = kind;
    if (input->length)
        memcpy(bytes + FRAME_HEADER_LENGTH, input->bytes, input->length);
    framed.bytes = bytes;
    try_stream(&framed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_split(data, size);
    if (!redaction)
        make_redaction();
    try_stream(&input);
    for (uint8_t kind = RESULT_FRAME_RESULT; kind <= RESULT_FRAME_OMITTED; kind++)
        try_payload(&input, kind);
    return 0;
}
