/* SPDX-License-Identifier: Apache-2.0 */
/*
 * E2B's Execution: results with a member for each type of content, logs and an error. Types without
 * a member are under "extra". Pure code, any thread.
 */
#pragma once

#include <jansson.h>

#include "formats/outcome.h"

/* New; NULL when out of memory. */
json_t *e2b_format_make(const struct outcome *outcome);
