/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads what a provider says about a run: results, audit records, status. A program prints any
 * character, so their texts may hold NUL (RFC 8259, section 7: \u0000), which jansson refuses
 * unless it is told otherwise. Texts from here are used with json_string_length(), or through
 * json_member_string(). Pure code, any thread.
 */
#pragma once

#include <jansson.h>

#define PROVIDER_JSON_FLAGS (JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL)

/* New; NULL for a NULL text, text that is no JSON, and out of memory. */
static inline json_t *provider_json_read(const char *text)
{
    return text ? json_loads(text, PROVIDER_JSON_FLAGS, NULL) : NULL;
}
