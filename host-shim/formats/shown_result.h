/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An entry of a result's "results" (docs/abi.md): a value or a display of a program, as text, as a
 * picture or as a file. Pure code, any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* What a terminal or a model can read of it, borrowed: a text, or the plain alternative of what is
 * none. NULL: it has none, or is a picture. */
const json_t *shown_result_text(const json_t *shown);

/* Is it a picture of a kind that models and terminals take? Of a file's type as well. */
bool shown_result_is_picture(const json_t *shown);
bool shown_result_is_picture_type(const char *mime_type);

/* May what shows it run scripts in it? */
bool shown_result_is_active_type(const char *mime_type);

/* The same as an entry of "files", new, with a name made of the number: what is no text can only be
 * written or kept. */
json_t *shown_result_file(const json_t *shown, unsigned number);
