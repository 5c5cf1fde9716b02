/* SPDX-License-Identifier: Apache-2.0 */
/* Why a text was not read as JSON, in words of ours: jansson's would repeat the text. Pure code,
 * any thread. */
#pragma once

#include <jansson.h>

#define JSON_PROBLEM_LIMIT 96

/* "a member twice, at line 3, byte 7"; *error is what the json_load…() that returned NULL filled.
 */
void json_problem(const json_error_t *error, char ret[JSON_PROBLEM_LIMIT]);
