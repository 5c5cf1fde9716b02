/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stamp of a tree: a hash of what the kernel says of each entry, without reading any file. It
 * is cheap, and a different one says that the tree may have changed: mode, inode, size, times
 * of writing and change, or number of names of any entry. Reading changes none of these. Nobody but
 * root can set a time of change, by setting the clock. Runs in the gateway and in
 * code-execute-environment; any thread.
 */
#pragma once

#include "base/sha256.h"
#include "environments/tree_walk.h"

#define TREE_STAMP_FILE "stamp" /* beside the directory: one line */

/* What is written in that file of a directory, which stays the caller's. false: it is not there, or
 * is no stamp. */
bool tree_stamp_recorded(int directory, char ret[SHA256_TEXT_LENGTH + 1]);

/* Of the directory, which stays the caller's, with all that is below it. It holds on this machine
 * alone: a copy has another one. The error's code is OUT_OF_MEMORY or INTERNAL, and its message
 * begins with the path of the entry. */
bool tree_stamp(int directory, const struct tree_limits *limits, char ret[SHA256_TEXT_LENGTH + 1],
                struct error *error);
