/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tool's input schema (JSON Schema 2020-12), from the table of request_fields(). It uses only
 * keywords that every model provider accepts: type, properties, required, additionalProperties,
 * items, enum, minimum, maximum, maxItems, description. Pure code, any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "request/request_fields.h"

/* A new reference, NULL when out of memory. */
json_t *input_schema(void);

/* What no schema says of the members: the capability of each, the member of the hashed request that
 * covers it or the reason why none does, and what the audit has of it. A new reference, NULL when
 * out of memory. */
json_t *input_members(void);

/* Each writes the offered values of a member into such a schema; false when out of memory. */
bool input_schema_offer_languages(json_t *schema, json_t *names);
/* Of a member that asks for a limit: the least and the most default of the offered languages, and
 * the most that a request may ask for. */
bool input_schema_offer_limit(json_t *schema, const struct request_field *field, uint64_t least,
                              uint64_t most, uint64_t maximum);
