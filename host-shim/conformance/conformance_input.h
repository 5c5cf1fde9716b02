/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs for a tool that is known by its schema alone. Pure code, any thread. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* What the good program prints; its text is computed, so that it is not in the code. */
#define CONFORMANCE_MARKER "conformance-42-marker"

/* As of find -print0, or of UTF-16: the bytes, without the array's own NUL at the end. */
#define CONFORMANCE_NUL_OUTPUT "before\0between\0\0behind\n"

/* Whether the tool's good input prints the marker. */
bool conformance_input_has_marker(const json_t *tool);
/* An input that fits the tool's schema; new text, NULL when out of memory. */
char *conformance_input_good(const json_t *tool);
/* A program that prints "number-42-N", or that sleeps; for tools with a marker. */
char *conformance_input_numbered(unsigned number);
char *conformance_input_sleeping(void);
/* A program that prints CONFORMANCE_NUL_OUTPUT; for tools with a marker. */
char *conformance_input_printing_nul(void);
/* The good one with a secret's handle; NULL where the tool's schema has no place for it. */
char *conformance_input_with_secret(const json_t *tool);
/* A program that prints the host's file of that reference; NULL as above. */
char *conformance_input_with_file(const json_t *tool, const char *ref);
/* A program that leaves a file, too large for the result; NULL as above. */
char *conformance_input_leaving_file(const json_t *tool);

/* What the program prints when its call has failed. */
#define CONFORMANCE_TOOL_ERROR "conformance-tool-error"
/* A program that calls the probe's tool and prints what it says; NULL: the tool's programs call
 * none. */
char *conformance_input_calling_tool(const json_t *tool);
