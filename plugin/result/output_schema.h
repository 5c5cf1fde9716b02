/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tool's output: one table of its members, from which the manifest's output schema is made. All
 * members of an object are required, but for those that are optional, and no others are there, but
 * for maps and open objects. Pure code, any thread.
 */
#pragma once

#include <jansson.h>

/* A new reference, NULL when out of memory. */
json_t *output_schema(void);
