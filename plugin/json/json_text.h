/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON values as text: compact, whole, or not there. Pure code, any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum json_order {
    JSON_ORDER_MADE,        /* members as they were put in */
    JSON_ORDER_MADE_REAL,   /* the same, of values that may have real numbers */
    JSON_ORDER_SORTED,      /* by UTF-16 code units: the text is canonical (RFC 8785) */
    JSON_ORDER_SORTED_REAL, /* the same, of values that may have real numbers */
};

/* A new NUL-terminated text from malloc(), not from jansson's allocator, which a host may exchange
 * meanwhile. NULL: out of memory, or NULL, or deeper than 128, or a real number where the order has
 * none, is in the value. */
char *json_text(const json_t *value, enum json_order order);

/*
 * A text that is written piece by piece, for texts of every call that need not be a JSON value
 * first. {.order = ...} is an empty one; order is that of the members of values, its own stand as
 * they were written. After a failure (no memory, a string that is not UTF-8) nothing is written any
 * more, and there is no text.
 */
struct json_draft {
    char *bytes;
    size_t length;
    size_t capacity;
    enum json_order order;
    bool failed;
};

/* name: of the member that is written; NULL in an array, and for the whole. */
void json_draft_open(struct json_draft *draft, const char *name, char bracket);
void json_draft_close(struct json_draft *draft, char bracket);
/* text NULL: null. */
void json_draft_string(struct json_draft *draft, const char *name, const char *text);
void json_draft_bytes(struct json_draft *draft, const char *name, const char *text, size_t length);
void json_draft_integer(struct json_draft *draft, const char *name, int64_t value);
void json_draft_boolean(struct json_draft *draft, const char *name, bool value);
/* A value that is JSON text already. */
void json_draft_text(struct json_draft *draft, const char *name, const char *text, size_t length);
/* Takes the reference; NULL is a failure. */
void json_draft_value(struct json_draft *draft, const char *name, json_t *value);

/* The text, new as that of json_text(), and its length; the draft is empty again. NULL: it failed.
 */
char *json_draft_take(struct json_draft *draft, size_t *ret_length);
