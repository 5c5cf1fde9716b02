/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a run, below the working directory: those that it brings, which come with its
 * message, and those that it leaves, which go to the backend once its tree is dead. Runs in the
 * guest.
 */
#pragma once

#include "guest/guest_protocol.h"

struct guest_files {
    struct run_file *inputs; /* by path and hash; the content is in the file system alone */
    size_t input_count;
    struct run_outputs outputs;
};

/* Takes all files of the message, and writes them. NULL, or what could not be done. *ret has the
 * paths and the patterns of the run from then on, and lives as long as the guest. */
const char *files_take(struct guest_run *run, struct guest_files *ret);

/* Sends what the run has left, where it asks for that. haste: behind an order to end the run. */
void files_send(const struct guest_files *files, bool haste);
