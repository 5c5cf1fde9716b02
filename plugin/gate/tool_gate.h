/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate of a program's calls of tools: each is granted, decided on, recorded and handed to the
 * host as a call of its own. Runs on the thread inside tool_invoke().
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "call/call.h"

/* Begins the calls of a run whose description has tools. A cell of a session takes over which tools
 * were called before, and leaves that behind. */
bool tool_gate_begin(struct call *call, struct error *error);
/* Ends them with the run. Fine for a run without tools too. */
void tool_gate_end(struct call *call);
