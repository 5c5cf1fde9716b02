/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The removal of a working directory when nothing runs in it any more. No state. Runs in
 * subreapers, and in a child of the supervisor.
 */
#pragma once

/* Removes path and everything below it without following a link or leaving its file system; best
 * effort, as deep as descriptors last. */
void remove_tree(const char *path);
