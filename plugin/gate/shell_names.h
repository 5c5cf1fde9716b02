/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables that a shell keeps for itself. In docker mode a shell of the image starts the program,
 * and cannot give it such a variable as a request has it: it refuses the value, replaces it or
 * ends. Pure code, any thread.
 */
#pragma once

#include <stdbool.h>

/* The name of the first such variable in a list of "NAME=value" (NULL: none), as the table has it;
 * NULL: there is none. */
const char *shell_names_find(char *const *environment);
/* Is it such a name? */
bool shell_names_has(const char *name);
