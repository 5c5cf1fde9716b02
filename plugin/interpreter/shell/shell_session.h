/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main program of a shell's session. It takes the cells, because a shell can take no descriptor
 * from a socket, and has its child, the shell, execute them. Descriptors 0-2 and RUN_RESULTS_FD of
 * this process are those of the cell under way, and the shell opens them by their names in /proc.
 * Runs in a sandbox or in a container, behind every layer, as the user that the cells run as: it
 * belongs to them. Single-threaded.
 */
#pragma once

/* The socket of cells is descriptor 0. Executes the shell as path and arguments (its name and its
 * options) say. Returns only where that could not be begun: an exit status. */
int shell_session(const char *path, char *const *arguments);
