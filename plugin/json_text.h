/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON values as text: compact, whole, or not there. Pure code, any thread.
 */
#pragma once

#include <jansson.h>

enum json_order {
    JSON_ORDER_MADE,   /* members as they were put in */
    JSON_ORDER_SORTED, /* by UTF-16 code units: the text is canonical (RFC 8785) */
};

/* A new NUL-terminated text from malloc(), not from jansson's allocator, which a host may exchange
 * meanwhile. NULL: out of memory, or NULL, or a real number, or deeper than 128, is in the value.
 */
char *json_text(const json_t *value, enum json_order order);
