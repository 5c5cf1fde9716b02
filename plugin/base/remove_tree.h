/* SPDX-License-Identifier: Apache-2.0 */
/* Removing a directory with all that is below it, whatever a stranger has put there. Any process,
 * single-threaded or not. */
#pragma once

/* Removes path and everything below it, without following a link or leaving its file system; best
 * effort, as deep as descriptors last. Nothing else may be at work below it. */
void remove_tree(const char *path);
