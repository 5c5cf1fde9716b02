/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A configuration of tool_prepare() that asks instead of configuring: "check" examines a policy,
 * "explain" says what would happen to a request under it, "counters" returns the counters, "offer"
 * the input schema for a host with these grants. The configuration in force stays. Only
 * "interpreters" starts anything: it asks each interpreter for its version in a sandbox. Any
 * thread.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"

/* Is it one? Decided by its members alone. */
bool inquiry_is_one(const char *config_json);

/* A new JSON text, NULL when out of memory. *ret_answered: false where the configuration was
 * refused, and "error" in the text says why. */
char *inquiry_answer(const char *config_json, bool *ret_answered);
