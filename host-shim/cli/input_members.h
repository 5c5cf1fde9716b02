/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The members of a tool's input that --set and --file make, as the provider's manifest describes
 * them: no provider's member is known here but "files", which is common to all. Main thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "files/lent_files.h"
#include "options/options.h"

/* The properties of the tool's input schema, borrowed from the manifest; NULL: it has none. */
json_t *input_members_of(const json_t *manifest, const char *tool_name);

/* Adds what --set says to the input: texts, whole numbers (with a unit: 64K, 256MiB, 1G), true and
 * false; an entry of a list or, as KEY=VALUE, of an object each time; anything else as JSON. */
bool input_members_set(const struct options *options, json_t *input, struct failure *failure);

/* "files": small ones of --file with their content, which an approver then sees, larger ones by
 * "ref" where the tool's schema has it. *files gets those. */
bool input_files_add(const struct options *options, json_t *input, struct lent_files *files,
                     struct failure *failure);

/* For the help of run: the members that --set can name. Nothing where no provider can be loaded. */
void input_members_write_help(FILE *out, const struct options *options);
