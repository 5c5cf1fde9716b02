/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hints that list the alternatives of a request: only those that policy, host and context would
 * give this call. They ask the host for its capabilities. On the thread inside tool_invoke() or
 * tool_prepare().
 */
#pragma once

#include "call/call.h"

/* Of a request that could not be read: the context is read here, and the configuration in force is
 * looked up, for the hint alone. */
void offer_hint_input(const struct call *call, struct error *error);

/* Of a language that the call may not have; operator: what the operator can do about it, behind
 * "ask the operator to ". NULL: nothing. */
void offer_hint_language(const struct call *call, const char *operators_part, struct error *error);

/* Of an image that the policy does not offer. */
void offer_hint_image(const struct call *call, bool language_has_its_own, struct error *error);
