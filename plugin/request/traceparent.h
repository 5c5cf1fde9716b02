/* SPDX-License-Identifier: Apache-2.0 */
/* The traceparent of W3C Trace Context (https://www.w3.org/TR/trace-context/). Pure code, any
 * thread. */
#pragma once

#include <stdbool.h>

/* version "-" trace-id "-" parent-id "-" flags in lower-case hex, neither id all zeros, not version
 * ff; more may follow behind a "-" in other versions than 00. */
bool traceparent_is_valid(const char *text);
