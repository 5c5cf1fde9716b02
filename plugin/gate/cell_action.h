/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call wants of its session beside a cell (session_action), and the way to the branch whose
 * turn it is not. Runs in the gateway, on the thread inside tool_invoke().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "call/call.h"

/* The facts by which the table of sessions judges the call; all borrowed from it. */
struct session_terms cell_terms(const struct call *call);

/* Does the request begin a session? */
bool cell_is_first(const struct call *call);
bool cell_has_action(const struct call *call, const char *action);
/* The number of the language's interpreter in the call's session. */
uint32_t cell_program(const struct call *call);

/* NOT_SUPPORTED, of /session; false. */
bool cell_refuse(struct error *error, const char *why);

/* Do the request's members of its session fit each other? false with INVALID_INPUT. */
bool cell_action_is_sound(const struct call *call, struct error *error);

/* Can the session that the call has taken do this, as far as the gateway knows? false with
 * NOT_SUPPORTED or CHECKPOINT_UNAVAILABLE. The sandbox has the last word, once it is approved. */
bool cell_action_is_possible(const struct call *call, struct error *error);

/* Wakes the session where another branch of its sandbox runs, and does what its action wants ahead
 * of the cell: undo or fork, behind which the call has the new session. false with error, and
 * nothing runs: SESSION_BUSY or CHECKPOINT_UNAVAILABLE, and each session is as it was; else it is
 * lost. */
bool cell_action_perform(struct call *call, struct error *error);

/* Is the action all there is to do? Blank code is no cell, so that undoing once more goes back
 * further. */
bool cell_action_is_all(const struct call *call);
/* Then: the outcome, and a note of what was done. */
void cell_action_note(struct call *call, uint64_t begin_ms);
