/* SPDX-License-Identifier: Apache-2.0 */
/* How much time a caller may ask for. On the thread inside tool_invoke() or tool_prepare(). */
#pragma once

#include "call/call.h"

/* Replaces the hint of a timeout. More time is advised only where policy and host would give it to
 * this caller; the host is asked for the capability. */
void timeout_hint(const struct call *call, struct error *error);

/* Replaces the hint of a timeout_ms that is too high, likewise. */
void timeout_hint_too_high(const struct call *call, struct error *error);
