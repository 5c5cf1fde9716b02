/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The script of ours by which a container's interpreter begins its program. The guest writes it to
 * a directory of its own below /tmp, and a variable tells the interpreter of it. Both are gone
 * before the program begins; that is the script's work. Runs in the guest.
 */
#pragma once

#include <stddef.h>

#define SCRIPT_PLACE "/tmp/.code-execute"

/* Writes it to that path, which is in SCRIPT_PLACE. Its descriptor, the caller's to close; -1:
 * there is no room for it, and nothing of it is left. */
int script_write(const char *path, const char *text, size_t length);
/* What the given variables, or else the image's, have under that name, which ends with "=". NULL:
 * it is in neither. Borrowed. */
const char *script_variable_value(char *const *given, const char *name);
/* The added variables, the given ones without that name, and the image's. New list, borrowed
 * strings; NULL with errno. */
char **script_environment(char *const *given, const char *name, const char *const *added,
                          size_t added_count);
