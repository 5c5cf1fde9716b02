/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a run, below the working directory: those that it brings, which come with its
 * message, and those that it leaves, which go to the backend once its tree is dead. Runs in the
 * guest.
 */
#pragma once

#include <sys/types.h>

#include "guest/files/known_files.h"
#include "guest/messages/guest_protocol.h"

struct guest_files {
    struct run_file *inputs; /* by path and hash; the content is in the file system alone */
    size_t input_count;
    struct run_outputs outputs;
};

/* Takes all files of the message, and writes them. NULL, or what could not be done. *ret has the
 * paths and the patterns of the run from then on, and lives as long as the guest. */
const char *files_take(struct guest_run *run, struct guest_files *ret);

/* The same of a cell, whose first file is its code and goes to that descriptor. Everything that a
 * program may have left in the way is replaced, and no link is followed. What cannot be written is
 * taken off the message all the same. */
const char *files_take_cell(struct guest_run *run, int code, struct guest_files *ret);
void files_clear(struct guest_files *files);
/* Of the cell that was taken: the content of that file is not as described. Nothing of it stays.
 * Returns what is to be said of it. */
const char *files_refuse(const char *path);
/* The same of a further interpreter, without a code. Nothing of them is kept. */
const char *files_take_further(struct guest_run *run);

/* Sends what is new or changed since the collection before, of a tree that is stopped meanwhile.
 * programs: the session's. */
void files_send_changed(const struct guest_files *files, const struct run_outputs *outputs,
                        struct known_files *known, const pid_t *programs, size_t program_count,
                        bool haste);

/* Notes all files as told of, for the next collection. */
void files_note(struct known_files *known);

/* Sends what the run has left, where it asks for that. haste: behind an order to end the run. */
void files_send(const struct guest_files *files, bool haste);
