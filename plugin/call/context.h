/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's context_json: who asks, in which session, under which trace, with how much of the
 * policy. Trusted, but checked: a member that is not known is refused, because a misspelt one would
 * silently not apply. Pure code,
 * any thread.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "call/call.h"

/* NULL text: an empty context. true and *ret (strings are the call's), or false with
 * INVALID_INPUT or OUT_OF_MEMORY; what is in *ret is the call's either way. */
bool context_parse(const char *context_json, struct call_context *ret, struct error *error);
