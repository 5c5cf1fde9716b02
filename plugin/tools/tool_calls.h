/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of the gateway's tools that the program of one run makes: their budgets, their turns,
 * their deadlines, and the answers on their way to the program. What decides is the gate's
 * (tool_call.h). Runs on the thread inside tool_invoke().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "policy/policy.h"
#include "run/frame_reader.h"
#include "run/run_calls.h"
#include "tools/answer_queue.h"
#include "tools/tool_call.h"
#include "tools/tool_flow.h"
#include "tools/tool_inbox.h"
#include "tools/tool_rate.h"
#include "json/json_text.h"

#define TOOL_ROWS_LIMIT  256                     /* calls that a result tells one by one */
#define TOOL_CALLS_ENDED "the run is at its end" /* to calls that are open then, or come then */

/* All borrowed until tool_calls_end(). */
struct tool_calls_terms {
    const struct tool_list *tools;
    const struct policy_tools *limits;
    const char *run_id;
    struct tool_flow *flow; /* what has been called: this run's, or its session's */
    struct tool_gate gate;
};

/* An approver's answer for all calls of one tool in this run. {0}: there is none. */
struct tool_allowance {
    size_t seen; /* so many tools, and one more, had been called when the question was made */
    char approver[APPROVAL_TEXT_LIMIT];
};

struct tool_calls {
    struct tool_calls_terms terms;
    struct tool_inbox inbox;
    struct run_calls served; /* what the loop around the run calls */
    struct tool_rate rate;
    struct tool_call *first; /* that have not ended, oldest first */
    struct tool_call **end;
    struct tool_allowance *allowed; /* by the index of the selection */
    uint64_t made;                  /* so many have come */
    size_t in_flight;               /* an approver or the host has them */
    size_t open_bytes;              /* of the arguments of all that have not ended */
    struct answer_queue answers;
    bool has_ended;         /* nothing is begun any more */
    bool ends_run;          /* an approver wants the run ended */
    struct json_draft rows; /* of the result's "calls", with commas between them */
    size_t row_count;
};

/* Begins with the tools' frame as output. false with error; tool_calls_end() is fine either way. */
bool tool_calls_begin(struct tool_calls *calls, const struct tool_calls_terms *terms,
                      struct error *error);
/* A frame of the program's: may it come, and here it is. */
enum frame_verdict tool_calls_judge(size_t length);
void tool_calls_take(struct tool_calls *calls, const unsigned char *payload, size_t length);
/* The program's stream is not understood any more, so no call can come: what is open fails, and so
 * does, at once, whatever the program calls from now on. */
void tool_calls_lose(struct tool_calls *calls);
/* Ends one that is in no list: the program hears that code, and the call is released. */
void tool_calls_fail(struct tool_calls *calls, struct tool_call *call, enum tool_error_code error,
                     const char *message);
/* Nothing more of the program's counts: withdraws what the host has, and releases everything but
 * the rows. Before the run's result. */
void tool_calls_end(struct tool_calls *calls);
void tool_calls_clear(struct tool_calls *calls);
/* As a member of the result. */
void tool_calls_write(const struct tool_calls *calls, const char *name, struct json_draft *draft);
