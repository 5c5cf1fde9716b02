/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading JSON in place: parts of a text, without a copy of what is not asked for. It finds its way
 * in JSON that is well-formed, and comes to no harm in any other. Pure code; runs in the command
 * that calls tools.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Borrowed bytes. */
struct json_slice {
    const char *at;
    size_t length;
};

/* Of the container (an array, or an object whose names are passed over) what is left to read. */
struct json_slice json_slice_open(struct json_slice container);
/* Takes the next element off what is left of an array. false: there is none. */
bool json_slice_next(struct json_slice *left, struct json_slice *ret);
/* The value of a member of the object; the name has no escapes. false: there is none. */
bool json_slice_member(struct json_slice object, const char *name, struct json_slice *ret);
/* The characters of a string, new, in UTF-8 and with a NUL behind them; NULL: it is none, or no
 * memory. */
char *json_slice_text(struct json_slice string);
