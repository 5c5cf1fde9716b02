/* SPDX-License-Identifier: Apache-2.0 */
/* Paths and versions of the interpreters, as a run would find them. Any thread. */
#pragma once

#include <jansson.h>

#include "../policy/configuration.h"

/* An array of {"language", "path", "version"}, new, for the languages that the mode in force can
 * run; path and version are null where the interpreter does not say. Each is asked in a sandbox of
 * its own, so this takes a while. NULL when out of memory. */
json_t *interpreter_facts(const struct configuration *configuration);
