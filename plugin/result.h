/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result: one JSON object that fits the manifest's output schema, whatever happened. Runs on
 * the thread inside tool_invoke().
 */
#pragma once

#include <jansson.h>

#include "call.h"
#include "error.h"

/* error: NULL where the program ran to an end. A new string, NULL when out of memory. */
char *result_text(struct call *call, const struct error *error);

/* The parts that the audit records share with it. New references. */
const char *result_status(const struct call *call, const struct error *error);
const char *result_cause(const struct call *call, const struct error *error);
json_t *result_isolation(const struct call *call);
