/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws an approval request for a person. All that came from the provider or the agent is escaped
 * and stands behind a gutter on rows that fit the terminal, so that no text of a request can begin
 * a row of its own and pass for a prompt. Pure code, any thread.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

#define APPROVAL_SHOW_ALL 0u

/* columns: the terminal's width. row_limit: how many rows each text may take (APPROVAL_SHOW_ALL:
 * no limit). Returns the number of lines that were left out. */
size_t approval_show(FILE *out, const json_t *request, unsigned columns, unsigned row_limit);
