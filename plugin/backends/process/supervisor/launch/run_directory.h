/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory of a run on the machine, where it has no file view of its own. Its first process
 * removes it. Runs in the supervisor.
 */
#pragma once

#include "backends/process/messages/interpreter_protocol.h"

/* Makes one below that directory, for this user alone. 0, or -1 with errno and ret empty: also
 * where the path is too long. */
int run_directory_make(const char *below, char ret[RUN_DIRECTORY_SIZE]);
/* Where the first process could not, another one does, as a tree of the run's making may take long.
 * It is no child of the supervisor, and holds no descriptor of it. "": there is none. */
void run_directory_remove(const char *directory);
