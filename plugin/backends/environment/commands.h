/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two commands of the program, and the files beside content/ that they share. One thread,
 * confined. Each fills in the outcome.
 */
#pragma once

#include "backends/environment/answer.h"
#include "environments/tree_walk.h"

#define CONTENT_NAME   "content"
#define INVENTORY_NAME "inventory"
#define STAMP_NAME     "stamp"

/* Installs the archive into the directory, which must be empty. Both stay the caller's. On failure
 * whatever is there is the caller's to remove; its directories may have mode 0555. */
void command_install(int archive, int directory, const struct tree_limits *limits,
                     struct outcome *outcome);
/* Hashes an installed directory anew and compares. */
void command_verify(int directory, const struct tree_limits *limits, struct outcome *outcome);
