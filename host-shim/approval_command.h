/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks a program: the request as JSON on its standard input, its decision as JSON on its standard
 * output. On the thread inside tool_invoke().
 */
#pragma once

#include <jansson.h>

#include "approval_decision.h"

void approval_by_command(const char *program, const json_t *request, const char *request_json,
                         int cancelled_fd, struct approval_decision *ret);

/* Reads what was answered to the request; anything but exactly one valid answer is a denial. */
void approval_read_decision(const char *text, size_t length, const json_t *request,
                            struct approval_decision *ret);
