/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call whose program is a cell of a session: which one, what is shown of it, and its execution.
 * Runs in the gateway, on the thread inside tool_invoke().
 */
#pragma once

#include <stdbool.h>

#include "call/call.h"

/* Behind plan_run(): fits the description to a cell, and takes the request's session, which is then
 * the call's until its end. Nothing where the request has none. false with NOT_SUPPORTED or an
 * error of session_take(). */
bool cell_plan(struct call *call, struct error *error);

/* In place of run_execute(): starts the session where it is to be a new one, and runs the cell. */
bool cell_execute(struct call *call, struct error *error);

/* Is nothing left of the cell that ran, or was there none? Then no files are missing. */
bool cell_leaves_nothing(const struct call *call);

/* The memory that the call takes beside what its session has already. */
uint64_t cell_memory_bytes(const struct call *call);

/* The member "session_history": the session, a hash of what ran in it before, the secrets that all
 * its cells can read, and how many others share its sandbox; shown: the cells as well, of very many
 * the last ones. Nothing where the request has no session. */
void cell_write_history(struct json_draft *draft, const char *name, const struct call *call,
                        bool shown);
bool cell_has_history(const struct call *call);
