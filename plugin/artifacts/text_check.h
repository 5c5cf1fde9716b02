/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether bytes that come in pieces are text: UTF-8 without a NUL. Pure code, any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct text_check { /* all zeros is the beginning */
    bool failed;
    unsigned char open[4]; /* a sequence that the last piece has cut */
    size_t open_length;
};

void text_check_add(struct text_check *check, const unsigned char *bytes, size_t length);
/* After the last piece. */
bool text_check_passed(const struct text_check *check);
