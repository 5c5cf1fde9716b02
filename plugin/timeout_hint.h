/* SPDX-License-Identifier: Apache-2.0 */
/* What to do about a program whose time was up. On the thread inside tool_invoke(). */
#pragma once

#include "call.h"

/* Replaces the hint of a timeout. More time is advised only where policy and host would give it to
 * this caller; the host is asked for the capability. */
void timeout_hint(const struct call *call, struct error *error);
