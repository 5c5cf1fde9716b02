/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns of tools' names, in policies and requests: a whole name, or the beginning of names with
 * one "*" behind it. Pure code, any thread.
 */
#pragma once

#include <stdbool.h>

#define TOOL_NAME_LIMIT 128 /* bytes, of a pattern too */

/* 1 to TOOL_NAME_LIMIT bytes without a control character. */
bool tool_name_valid(const char *name);
/* A name in which "*" is nowhere but at the end. */
bool name_pattern_valid(const char *pattern);
bool name_pattern_matches(const char *pattern, const char *name);
/* Does one of them? NULL ends the list. */
bool name_patterns_match(char *const *patterns, const char *name);
