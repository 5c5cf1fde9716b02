/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making the places of mounts and files below a directory, and the files of a description there. No
 * state. Runs in pid 1 of a sandbox, in subreapers, and in the main program of a session.
 */
#pragma once

#include "protocol/run_description.h"
#include "protocol/run_event.h"

/* Each returns 0, or -1 with errno. */

/* Creates the directory and its parents below directory; existing ones are fine. */
int make_directories(int directory, const char *path);
/* The same for the part of path before its last slash. */
int make_parent_directories(int directory, const char *path);
/* The same for an empty file. */
int make_empty_file(int directory, const char *path);

/* The way of a description's files into its working directory. */
struct run_files {
    int directory;
    int inputs;          /* a socket with the descriptors of those by reference, in their order */
    const char *refused; /* the path of the one that failed; borrowed from the description */
    enum run_failure failure; /* where it is not as described, else RUN_FAILURE_NONE */
};

/* Writes the files, with the directories that lead to them. One by reference is hashed as it is
 * copied: other content than described is never left to a program. 0, or -1 with errno, 0 of a file
 * that is another. */
int write_run_files(struct run_files *files, const struct run_description *description);
