/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON Merge Patch (RFC 7386). Pure code, any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* Changes target (an object) in place by patch (an object, unchanged, from json_input_parse(), so
 * not nested deeply). false when out of memory: target is then half changed. */
bool merge_patch(json_t *target, json_t *patch);
