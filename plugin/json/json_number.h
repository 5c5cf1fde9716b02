/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of JSON by their values, as JSON Schema has it: 1 is 1.0. Pure code, any thread. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* -1, 0 or 1: left is less, the same or more. Exact, also where a double is not. */
int json_number_compare(const json_t *left, const json_t *right);
bool json_number_is_whole(const json_t *number);
