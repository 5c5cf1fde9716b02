/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the budgets of a run's results: see results.h. Runs in the gateway, on the thread inside
 * tool_invoke(). */
#include "results/results.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "protocol/session.h"
#include "results/result_bundle.h"
#include "json/json_input.h"

/* Of arrays and objects in a payload. Specifications of charts have some twenty. */
#define DEPTH_LIMIT 48
/* Of an exception or a count, beside what the policy allows for a text. */
#define FACTS_LIMIT      ((size_t)1 << 20)
#define CELL_FRAME_LIMIT ((size_t)64 << 10) /* what a cell says at its end */

void results_init(struct results *results, const struct policy_results *limits,
                  const struct redaction *redaction, const char *run_id)
{
    *results = (struct results){.limits = limits, .redaction = redaction, .run_id = run_id};
}

void results_clear(struct results *results)
{
    free(results->rows.bytes);
    free(results->exception.bytes);
    json_decref(results->defined);
    *results = (struct results){.limits = NULL};
}

/* RESULT_OMISSION_COUNT: it may come. */
static enum result_omission judge_frame(const struct results *results, uint8_t kind, size_t length)
{
    if (kind == RESULT_FRAME_RESULT && results->row_count >= results->limits->max_items)
        return RESULT_OMITTED_MAX_ITEMS;
    if (kind != RESULT_FRAME_RESULT && length > results->limits->text_bytes + FACTS_LIMIT)
        return RESULT_OMITTED_TEXT_BYTES;
    return length > results->limits->total_bytes - results->read ? RESULT_OMITTED_TOTAL_BYTES
                                                                 : RESULT_OMISSION_COUNT;
}

static enum frame_verdict judge(void *user, uint8_t kind, size_t length)
{
    struct results *results = user;
    if (kind == RESULT_FRAME_CELL && results->cell && length <= CELL_FRAME_LIMIT)
        return results->cell->ended ? FRAME_DISCARD : FRAME_KEEP;
    if (kind == RESULT_FRAME_CALL && results->calls && tool_calls_judge(length) == FRAME_KEEP)
        return FRAME_KEEP;
    results->refused =
        kind < RESULT_FRAME_RESULT || kind > RESULT_FRAME_OMITTED || length > RESULT_FRAME_LIMIT;
    if (results->refused && results->calls)
        tool_calls_lose(results->calls);
    if (results->refused)
        return FRAME_REFUSE;
    enum result_omission omission = judge_frame(results, kind, length);
    if (omission != RESULT_OMISSION_COUNT) {
        results_omit(&results->omitted, omission, 1, length);
        return FRAME_DISCARD;
    }
    results->read += length;
    return FRAME_KEEP;
}

static void lose(void *user, size_t length)
{
    struct results *results = user;
    results_omit(&results->omitted, RESULT_OMITTED_MEMORY, 1, length);
}

static size_t room(const struct results *results)
{
    return (size_t)results->limits->total_bytes - results->rows.length;
}

/* Consumes the reference. */
static json_t *redact(struct results *results, json_t *value, enum result_omission *ret_why)
{
    struct json_redaction redaction = {.redaction = results->redaction, .room = room(results)};
    json_t *clean = json_redact(&redaction, value);
    results->redacted += redaction.found;
    *ret_why = redaction.lacks_room ? RESULT_OMITTED_TOTAL_BYTES : RESULT_OMITTED_MEMORY;
    return clean;
}

/* A new reference to the object of JSON, without secrets. NULL: *ret_why says why. */
static json_t *read_payload(struct results *results, const unsigned char *payload, size_t length,
                            enum result_omission *ret_why)
{
    const struct json_input_limits limits = {.max_bytes = results->limits->total_bytes,
                                             .max_depth = DEPTH_LIMIT};
    struct error error;
    json_t *value = json_input_parse("result", (const char *)payload, length, &limits,
                                     ERROR_INVALID_INPUT, &error);
    if (value)
        return redaction_empty(results->redaction) ? value : redact(results, value, ret_why);
    *ret_why = error.code == ERROR_OUT_OF_MEMORY ? RESULT_OMITTED_MEMORY : RESULT_OMITTED_INVALID;
    return NULL;
}

/* A row is written by itself first: one that fails is not there at all. */
static void add_row(struct results *results, const json_t *value, size_t length)
{
    const struct bundle_rules rules = {
        .limits = results->limits,
        .has_secrets = !redaction_empty(results->redaction),
        .run_id = results->run_id,
        .index = results->row_count,
    };
    struct json_draft row = {.order = JSON_ORDER_MADE_REAL};
    size_t row_length = 0;
    bool is_good = result_bundle_write(value, &rules, &results->omitted, &row);
    CLEANUP_FREE char *text = json_draft_take(&row, &row_length);
    if (!is_good)
        return;
    if (!text || row_length >= room(results)) {
        results_omit(&results->omitted, text ? RESULT_OMITTED_TOTAL_BYTES : RESULT_OMITTED_MEMORY,
                     1, length);
        return;
    }
    size_t before = results->rows.length;
    json_draft_text(&results->rows, NULL, text, row_length);
    if (results->rows.failed) {
        results_omit(&results->omitted, RESULT_OMITTED_MEMORY, 1, length);
        results->rows.length = before;
        results->rows.failed = false;
        return;
    }
    results->row_count++;
}

/* The last one counts: it ended the program. */
static void take_exception(struct results *results, const json_t *value, size_t length)
{
    struct json_draft exception = {.order = JSON_ORDER_MADE};
    bool is_good = result_exception_write(value, results->limits, &exception);
    if (!is_good || exception.failed) {
        results_omit(&results->omitted, is_good ? RESULT_OMITTED_MEMORY : RESULT_OMITTED_INVALID, 1,
                     length);
        free(exception.bytes);
        return;
    }
    free(results->exception.bytes);
    results->exception = exception;
}

static bool read_count(const json_t *value, const char *name, uint64_t *ret)
{
    const json_t *count = json_object_get(value, name);
    if (!json_is_integer(count) || json_integer_value(count) < 0)
        return false;
    *ret = (uint64_t)json_integer_value(count);
    return true;
}

/* What the program's own side has left out. */
static void take_omitted(struct results *results, const json_t *value, size_t length)
{
    uint64_t count = 0;
    uint64_t bytes = 0;
    const char *name = json_string_value(json_object_get(value, "reason"));
    if (!name || !read_count(value, "count", &count) || !read_count(value, "bytes", &bytes)) {
        results_omit(&results->omitted, RESULT_OMITTED_INVALID, 1, length);
        return;
    }
    unsigned reason = 0;
    while (reason < RESULT_OMITTED_PROGRAM &&
           strcmp(result_omission_name((enum result_omission)reason), name) != 0)
        reason++;
    if (count > 0)
        results_omit(&results->omitted, (enum result_omission)reason, count, bytes);
}

/* Of the names that the session has, those that could be some. */
static json_t *read_defined(const json_t *value)
{
    json_t *names = json_array();
    size_t index;
    json_t *name;
    json_array_foreach(
        json_object_get(value, "defined"), index,
        name) if (json_is_string(name) && json_string_length(name) <= SESSION_NAME_BYTES &&
                  json_array_size(names) < SESSION_NAMES_MOST)(void) json_array_append(names, name);
    return names;
}

static enum checkpoint_word read_checkpoint(const json_t *value)
{
    const char *name = json_string_value(json_object_get(value, "checkpoint"));
    return name ? checkpoint_word_named(name) : CHECKPOINT_WORD_COUNT;
}

/* What stands in a secret's place may be longer than the secret. */
static void cut_name(json_t *names, size_t index)
{
    char name[SESSION_NAME_BYTES + 1];
    const json_t *whole = json_array_get(names, index);
    if (json_string_length(whole) <= SESSION_NAME_BYTES)
        return;
    (void)snprintf(name, sizeof(name), "%s", json_string_value(whole));
    utf8_end_whole(name);
    (void)json_array_set_new(names, index, json_string(name));
}

/* Consumes the reference. NULL: no memory. */
static json_t *clean_names(struct results *results, json_t *names)
{
    struct json_redaction redaction = {.redaction = results->redaction, .room = FACTS_LIMIT};
    if (redaction_empty(results->redaction))
        return names;
    json_t *clean = json_redact(&redaction, names);
    results->redacted += redaction.found;
    for (size_t i = 0; i < json_array_size(clean); i++)
        cut_name(clean, i);
    return clean;
}

/* Whatever it says, the cell has ended. */
static void take_cell(struct results *results, const unsigned char *payload, size_t length)
{
    const struct json_input_limits limits = {.max_bytes = CELL_FRAME_LIMIT, .max_depth = 4};
    struct error error;
    json_auto_t *value = json_input_parse("cell", (const char *)payload, length, &limits,
                                          ERROR_INVALID_INPUT, &error);
    uint64_t status = 0;
    results->cell->ended = true;
    results->cell->exit_code = 1;
    if (value && read_count(value, "exit_code", &status))
        results->cell->exit_code = (int32_t)(status & 0xff);
    results->cell->home_is_empty = json_is_true(json_object_get(value, "home_is_empty"));
    results->cell->checkpoint = value ? read_checkpoint(value) : CHECKPOINT_WORD_COUNT;
    json_decref(results->defined);
    results->defined = value ? clean_names(results, read_defined(value)) : NULL;
}

static void take(void *user, uint8_t kind, const unsigned char *payload, size_t length)
{
    struct results *results = user;
    enum result_omission why;
    if (kind == RESULT_FRAME_CELL) {
        take_cell(results, payload, length);
        return;
    }
    if (kind == RESULT_FRAME_CALL) {
        tool_calls_take(results->calls, payload, length);
        return;
    }
    json_auto_t *value = read_payload(results, payload, length, &why);
    if (!value)
        results_omit(&results->omitted, why, 1, length);
    else if (kind == RESULT_FRAME_RESULT)
        add_row(results, value, length);
    else if (kind == RESULT_FRAME_EXCEPTION)
        take_exception(results, value, length);
    else
        take_omitted(results, value, length);
}

struct frame_handler results_handler(struct results *results)
{
    return (struct frame_handler){.judge = judge, .take = take, .lose = lose, .user = results};
}

void results_end(struct results *results, const struct frame_reader *reader)
{
    if (frame_reader_is_inside(reader))
        results_omit(&results->omitted, RESULT_OMITTED_INCOMPLETE, 1, reader->filled);
}

void results_write_rows(const struct results *results, const char *name, struct json_draft *draft)
{
    json_draft_open(draft, name, '[');
    if (results->row_count > 0)
        json_draft_text(draft, NULL, results->rows.bytes, results->rows.length);
    json_draft_close(draft, ']');
}

void results_write_exception(const struct results *results, const char *name,
                             struct json_draft *draft)
{
    json_draft_text(draft, name, results->exception.bytes, results->exception.length);
}
