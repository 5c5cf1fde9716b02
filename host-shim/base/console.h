/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The streams of toolhost. Standard output belongs to the command: before a provider is loaded it
 * is moved to a descriptor of its own, and whatever a provider or its child prints to descriptor 1
 * lands on standard error. Main thread, and the callbacks on it.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/failure.h"

/* Moves standard output away; the descriptor where it is now, or -1. */
int console_take_stdout(void);

/* Moves standard input away, so that no provider and no child of it reads from it; the descriptor
 * where it is now, or -1. */
int console_take_stdin(void);

/* Prints "toolhost: CODE: message" and "toolhost: hint: …" on standard error, escaped. */
void console_print_failure(const struct failure *failure);
/* Prints "toolhost: text" on standard error, escaped. */
void console_print_notice(const char *text);
/* The same from any thread, without blocking: a line that is not read is dropped. The next line
 * that is written reports how many were. */
void console_log_notice(const char *text);

/* Writes a value for people, or for a program of its own form. */
typedef void page_writer(FILE *page, const json_t *value);
/* What the writer puts onto a page in memory; new, NULL when out of memory. */
char *page_text(page_writer *write, const json_t *value, size_t *ret_length);
/* The same, printed to out as one piece. */
bool console_print_page(int out, page_writer *write, const json_t *value, struct failure *failure);

/* Prints JSON for people and programs alike to out: indented, with one line break at its end. */
bool console_print_json(int out, const json_t *value, struct failure *failure);
