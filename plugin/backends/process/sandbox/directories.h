/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making the places of mounts and files below a directory. No state. Runs in pid 1 of a sandbox, in
 * subreapers, and in the main program of a session.
 */
#pragma once

/* Each returns 0, or -1 with errno. */

/* Creates the directory and its parents below directory; existing ones are fine. */
int make_directories(int directory, const char *path);
/* The same for the part of path before its last slash. */
int make_parent_directories(int directory, const char *path);
/* The same for an empty file. */
int make_empty_file(int directory, const char *path);
