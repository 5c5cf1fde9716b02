/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A configuration of tool_prepare() that asks instead of configuring: "check" looks a policy over,
 * "explain" says what would become of a request under it, "counters" what has been counted, "offer"
 * what a host with these grants can offer. What is in force stays in force, and nothing is started
 * but by "interpreters", which asks each for its version in a sandbox. Any thread.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"

/* Is it one? Decided by its members alone. */
bool inquiry_is_one(const char *config_json);

/* A new JSON text, NULL when out of memory. *ret_answered: false where the configuration was
 * refused, and "error" in the text says why. */
char *inquiry_answer(const char *config_json, bool *ret_answered);
