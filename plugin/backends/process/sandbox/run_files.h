/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a description on their way into a fresh working directory, and the removal of such a
 * directory when nothing runs in it any more. No state. Runs in inits and subreapers.
 */
#pragma once

#include "protocol/run_description.h"

/* Writes the description's files below directory, with the directories that lead to them. 0, or -1
 * with errno, and *ret_path is that of the one that failed. */
int write_run_files(int directory, const struct run_description *description,
                    const char **ret_path);

/* Removes path and everything below it without following a link or leaving its file system; best
 * effort, as deep as descriptors last. */
void remove_tree(const char *path);
