/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tool's input schema (JSON Schema 2020-12), from the table of request_fields(). It uses only
 * what every model provider takes: type, properties, required, additionalProperties, items, enum,
 * minimum, maximum, maxItems, description. Pure code, any thread.
 */
#pragma once

#include <jansson.h>

/* A new reference, NULL when out of memory. */
json_t *input_schema(void);
