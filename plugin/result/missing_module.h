/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that ended because a library is not there says so in its interpreter's words. An agent
 * needs to know that nothing it prints or installs will change that. Pure code, any thread.
 */
#pragma once

#include <stdbool.h>

#define MISSING_MODULE_LIMIT 64 /* bytes of a name */

/* The name of the library that the standard error complains about; false where it is about
 * something else, or the name is none that a library could have. */
bool missing_module_find(const char *language, const char *errors,
                         char ret_name[MISSING_MODULE_LIMIT + 1]);
