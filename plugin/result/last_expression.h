/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the last line of a Python program looks like an expression, the value of which a notebook
 * would show and a program does not. It looks at the words alone and answers no in doubt: nothing
 * is parsed. Pure code, any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

bool last_line_is_expression(const char *code, size_t length);
