/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The results that a program sends over its stream of frames, as far as the policy's budgets go.
 * Each frame is checked, redacted and written when it is whole; what is kept is text, so that
 * memory is bounded by the budgets whatever the values are. Runs on the thread inside
 * tool_invoke().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/policy.h"
#include "protocol/tool_protocol.h"
#include "redaction/redaction.h"
#include "results/result_bundle.h"
#include "run/frame_reader.h"
#include "run/session_run.h"
#include "tools/tool_calls.h"
#include "json/json_text.h"

/* The kinds of frames; each payload is one object of JSON (docs/internals/run.md). */
enum result_frame {
    RESULT_FRAME_RESULT = 1,
    RESULT_FRAME_EXCEPTION = 2,
    RESULT_FRAME_OMITTED = 3,
    RESULT_FRAME_CELL = 4,               /* of a session: its cell has ended */
    RESULT_FRAME_CALL = TOOL_FRAME_CALL, /* of a tool (tools/tool_frames.h): no JSON */
};

/* A longer frame is none: no program of ours sends it. */
#define RESULT_FRAME_LIMIT ((size_t)256 << 20)

struct results {
    const struct policy_results *limits; /* borrowed, as are the next two; NULL: there are none */
    const struct redaction *redaction;
    const char *run_id;
    struct json_draft rows; /* of results, with commas between them */
    struct json_draft exception;
    size_t row_count;
    uint64_t read; /* bytes of the payloads that were looked at */
    struct results_omitted omitted;
    size_t redacted;          /* places in which a secret was found */
    struct cell_word *cell;   /* borrowed; NULL: this is no cell */
    struct tool_calls *calls; /* borrowed; NULL: the program has no tools */
    json_t *defined;          /* the names that the session has then; NULL: not said */

    bool refused; /* the stream was not understood to its end */
};

void results_init(struct results *results, const struct policy_results *limits,
                  const struct redaction *redaction, const char *run_id);
void results_clear(struct results *results);
/* For the reader of the stream. */
struct frame_handler results_handler(struct results *results);
/* Nothing more comes of the stream. */
void results_end(struct results *results, const struct frame_reader *reader);

/* As members of the result. */
void results_write_rows(const struct results *results, const char *name, struct json_draft *draft);
void results_write_exception(const struct results *results, const char *name,
                             struct json_draft *draft);
