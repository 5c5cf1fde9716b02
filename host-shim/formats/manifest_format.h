/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A provider's tools as a model's API wants them in its request: mcp, openai, openai-strict,
 * anthropic, gemini. Derived from any manifest. Pure code, any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/failure.h"

struct manifest_format;

/* NULL with the failure filled (code "usage") for a name that is none. */
const struct manifest_format *manifest_format_find(const char *name, struct failure *failure);

/* *ret_tools (new) is the array of tools. *ret_notes (new) is an array of strings: what the format
 * cannot express and was left out, renamed or cut. */
bool manifest_format_apply(const struct manifest_format *format, const json_t *manifest,
                           json_t **ret_tools, json_t **ret_notes, struct failure *failure);
