/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate of a program's calls of tools: each is granted, decided on, recorded and handed to the
 * host as a call of its own. Runs on the thread inside tool_invoke().
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "call/call.h"

/* Begins the calls of a run whose description has tools. They end with the run. */
bool tool_gate_begin(struct call *call, struct error *error);
