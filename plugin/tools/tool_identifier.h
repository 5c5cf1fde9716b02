/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The name under which a program calls a tool, where the tool's own is none in Python and
 * JavaScript. The rule is stable: programs are written by it. Pure code, any thread.
 */
#pragma once

#include "vocabulary/pattern.h"

#define TOOL_IDENTIFIER_SIZE (TOOL_NAME_LIMIT + 16) /* with "_", a number and the NUL */

/* Each byte outside [A-Za-z0-9_] becomes "_". In front comes "_", where the identifier would begin
 * with a digit or two "_", or is a word of Python or JavaScript, or of the module "tools" itself.
 * name has at most TOOL_NAME_LIMIT bytes. */
void tool_identifier_make(const char *name, char ret[TOOL_IDENTIFIER_SIZE]);
/* The same with "_NUMBER" behind it: for another tool that becomes the same. */
void tool_identifier_number(const char *name, unsigned number, char ret[TOOL_IDENTIFIER_SIZE]);
