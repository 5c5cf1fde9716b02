/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tokens by which a host answers what it was asked. They are random, so that none is used twice
 * and none can be guessed; fit 53 bits, so that JavaScript's numbers hold them; and those of one
 * kind are never those of the other. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum token_kind {
    TOKEN_OF_APPROVAL,  /* tool_reply_approval() */
    TOKEN_OF_TOOL_CALL, /* tool_reply_call() */
};

/* true and *ret, not 0; false without entropy. */
bool token_make(enum token_kind kind, uint64_t *ret);
