/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the gateway tells of a run's tools, in a file that the first process leaves which takes it
 * off the socket. It lies in /tmp, or where nothing can be written there, in TMPDIR. It says
 * nothing that a program could not know; one that removes or changes it deceives itself. Runs in
 * the command that calls tools.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "interpreter/tool_command/json_slice.h"
#include "interpreter/tool_command/tool_channel.h"

/* Leaves it there; without room there will be none. */
void tool_listing_keep(const unsigned char *bytes, size_t length);
/* Its bytes, and no form. false: it is not there. */
bool tool_listing_read(struct tool_reply *ret);

/* The words of standard output, a line each: the names of all tools; of those in whose name, title
 * or description there are such words, the best first. false: no memory. */
void tool_listing_print_names(struct json_slice listing);
bool tool_listing_search(struct json_slice listing, char *const *words);
/* What the gateway tells of one tool, as a line. false: there is none of that name. */
bool tool_listing_describe(struct json_slice listing, const char *name);
