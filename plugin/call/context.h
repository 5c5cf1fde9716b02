/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's context_json: the caller, its conversation and trace, its files and its part of the
 * policy. It is trusted, but checked: an unknown member is refused, because a misspelt one would
 * silently not apply. Pure code, any thread.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "call/call.h"

/* NULL text: an empty context. true and *ret (strings are the call's), or false with INVALID_INPUT
 * or OUT_OF_MEMORY; the call owns the content of *ret either way. */
bool context_parse(const char *context_json, struct call_context *ret, struct error *error);
/* Leaves it empty. */
void context_clear(struct call_context *context);

/* The first file of that reference; NULL: the host lists none. */
const struct context_file *context_find_file(const struct call_context *context, const char *ref);

/* The form of W3C Trace Context (https://www.w3.org/TR/trace-context/): version "-" trace-id "-"
 * parent-id "-" flags in lower-case hex, neither id all zeros, not version ff; more may follow
 * behind a "-" in other versions than 00. */
bool traceparent_is_valid(const char *text);
