/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a description on their way into a fresh working directory, and the removal of such a
 * directory when nothing runs in it any more. No state. Runs in inits and keepers.
 */
#pragma once

#include "../../protocol/run_description.h"

/* Writes the file below directory, with the directories that lead to it. 0, or -1 with errno. */
int write_run_file(int directory, const struct run_file *file);

/* Removes path and everything below it without following a link or leaving its file system; best
 * effort, as deep as descriptors last. */
void remove_tree(const char *path);
