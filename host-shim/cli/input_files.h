/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of --file as "files" of a tool's input: small ones with their content, which an
 * approver then sees, larger ones by "ref" where the tool's schema has it. Main thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "files/lent_files.h"
#include "options/options.h"

/* *files gets those that are named by "ref". */
bool input_files_add(const struct options *options, json_t *input, struct lent_files *files,
                     struct failure *failure);
