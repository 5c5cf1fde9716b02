/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that strangers choose for secrets and sessions, and the handle "{{secret:NAME}}" that
 * stands for a secret's value. Pure code, any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define SECRET_NAME_LIMIT    128
#define SECRET_HANDLE_PREFIX "{{secret:"
#define SECRET_HANDLE_SUFFIX "}}"

/* [A-Za-z0-9][A-Za-z0-9._-]{0,127} */
bool handle_name_valid(const char *name, size_t length);

/* The name inside text when all of it is a handle: *ret_name points into text. */
bool handle_parse(const char *text, const char **ret_name, size_t *ret_length);
