/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a tool's output that a client gets. A tool of the manifest can have "result":
 * {"brief": names of the output's members, "text": names of those a model reads}. structuredContent
 * is then the brief members that have something to say, unless the operator wants all; text is the
 * second list. A tool without gets all of both. Pure code, any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* The schema that result_form_structured() fits; new. NULL where the tool declares no object, or
 * when out of memory. */
json_t *result_form_schema(const json_t *tool, bool full);

/* Of an output that fits the tool's schema; new, NULL when out of memory. */
json_t *result_form_structured(const json_t *tool, json_t *output, bool full);

/* The first member's text, and each further one behind its name; new. NULL where the tool names
 * none or none has anything to say, or when out of memory. */
json_t *result_form_text(const json_t *tool, const json_t *output);
