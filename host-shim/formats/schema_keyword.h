/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keywords of JSON Schema that constrain or describe one value, and which model provider takes
 * them. Those that hold schemas (properties, items, anyOf, ...) are schema_subset.c's own. Pure
 * code, any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "formats/schema_subset.h"

/* Copies the keywords that the subset takes from schema to *result, and puts the others that
 * constrain into its description. false: out of memory. */
bool schema_keywords_copy(const json_t *schema, enum schema_subset subset, json_t *result);

/* The first keyword of the schema that has no equivalent and cannot be done without, for it admits
 * or refuses values by a schema of its own; NULL where there is none. */
const char *schema_keyword_foreign(const json_t *schema);
