/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of the program: what it gives up, and then one of two commands, which fill in the
 * outcome. One thread.
 */
#pragma once

#include "backends/environment/answer.h"
#include "environments/tree_walk.h"

#define ARCHIVE_FD   0
#define DIRECTORY_FD 3

/* In the directory. */
#define CONTENT_NAME   "content"
#define INVENTORY_NAME "inventory"

/* Every other descriptor, every capability, new privileges, all files but those below
 * DIRECTORY_FD, and all system calls but those of the list in confinement.c. To be called before a
 * byte of an archive is read. NULL, or what could not be given up, with errno. installs: it makes
 * files there. */
const char *confinement_enter(bool installs, const struct tree_limits *limits);

/* Installs the archive into the directory, which must be empty. Both stay the caller's. On failure
 * whatever is there is the caller's to remove; its directories may have mode 0555. */
void command_install(int archive, int directory, const struct tree_limits *limits,
                     struct outcome *outcome);
/* Hashes an installed directory anew and compares. */
void command_verify(int directory, const struct tree_limits *limits, struct outcome *outcome);
