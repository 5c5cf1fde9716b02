/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result: one JSON object that fits the manifest's output schema, whatever happened. Runs on
 * the thread inside tool_invoke().
 */
#pragma once

#include "base/error.h"
#include "call/call.h"
#include "json/json_text.h"

/* error: NULL where the program ran to an end. A new string, NULL when out of memory. */
char *result_text(struct call *call, const struct error *error);

/* The parts that the audit records share with it; the last two are the members "signal" and
 * "isolation". */
const char *result_status(const struct call *call, const struct error *error);
const char *result_cause(const struct call *call, const struct error *error);
void result_write_signal(struct json_draft *draft, const struct call *call,
                         const struct error *error);
void result_write_isolation(struct json_draft *draft, const struct call *call);
