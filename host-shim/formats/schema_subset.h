/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rewrites a tool's input schema (JSON Schema 2020-12) into the part of JSON Schema that a model
 * provider takes. A limit that the provider does not know goes into the description; an optional
 * member that it cannot express is left out and named; what cannot be left out is refused. The
 * rewritten schema never admits more members than the tool's own. Pure code, any thread.
 *
 * What each takes, and where that is written:
 *   OpenAI     "Function calling" and "Structured outputs: supported schemas" of its guides
 *   Anthropic  "Tool use: defining tools" of its guides; the API's messages on input_schema
 *   Gemini     "Schema" of the API reference of generateContent: a subset of OpenAPI 3.0
 */
#pragma once

#include <jansson.h>

#include "base/failure.h"

enum schema_subset {
    SCHEMA_SUBSET_OPENAI,        /* JSON Schema without combiners but anyOf */
    SCHEMA_SUBSET_OPENAI_STRICT, /* closed objects, every member required, the optional nullable */
    SCHEMA_SUBSET_ANTHROPIC,     /* as OPENAI, with names of members restricted */
    SCHEMA_SUBSET_GEMINI,        /* its OpenAPI subset: nullable, no maps, no lists of types */
};

/* The rewritten schema (new). Appends to left_out (an array) where each member stood that was left
 * out, as JSON Pointers into instances ("*": any item). NULL with the failure filled: the schema is
 * no object's, or a member that must be there cannot be expressed. */
json_t *schema_subset_make(const json_t *schema, enum schema_subset subset, json_t *left_out,
                           struct failure *failure);

/* The keywords that constrain or describe one value, and which model provider takes them
 * (schema_keyword.c). Copies the keywords that the subset takes from schema to *result, and puts
 * the others that constrain into its description. false: out of memory. */
bool schema_keywords_copy(const json_t *schema, enum schema_subset subset, json_t *result);

/* The first keyword of the schema that has no equivalent and cannot be done without, for it admits
 * or refuses values by a schema of its own; NULL where there is none. */
const char *schema_keyword_foreign(const json_t *schema);

/* Is it one of its types? A list of types may have null. */
bool schema_has_type(const json_t *schema, const char *name);
