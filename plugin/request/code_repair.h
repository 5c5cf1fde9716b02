/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slips models make when they write code into JSON: a Markdown fence around all of it, a byte
 * order mark before it. Both are no part of any program, so they are taken off, and the result
 * says so. Pure code, any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct code_repair {
    const char *code; /* the part of the text that is the program; borrowed from it */
    size_t length;
    bool byte_order_mark; /* was taken off */
    bool fence;           /* was taken off */
};

struct code_repair code_repair_find(const char *text, size_t length);
