/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the program gives up before it reads a byte of an archive: every other descriptor, every
 * capability, new privileges, all files but those below one descriptor's directory, and all system
 * calls but those of the list in confinement.c. One thread.
 */
#pragma once

#include <stdbool.h>

#include "environments/tree_walk.h"

#define ARCHIVE_FD   0
#define DIRECTORY_FD 3

/* NULL, or what could not be given up, with errno. writes: it makes files below DIRECTORY_FD. */
const char *confinement_enter(bool writes, const struct tree_limits *limits);
