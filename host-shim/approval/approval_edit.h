/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lets the person at the terminal change a request's arguments in their editor ($VISUAL, else
 * $EDITOR, else vi). On the thread inside tool_invoke().
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/failure.h"

/* Opens the arguments in the editor at the terminal fd: the code in a file of its own, the rest as
 * JSON. *ret (new) is what was saved. false with failure: the editor failed, was not done by the
 * deadline (monotonic_ms()), or left no JSON object. */
bool approval_edit(const json_t *arguments, int terminal, int cancelled_fd, uint64_t deadline,
                   json_t **ret, struct failure *failure);

/* The request as it would be asked with these arguments, for showing; new. */
json_t *approval_edited_request(const json_t *request, const json_t *arguments);
