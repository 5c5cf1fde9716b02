/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is in the directory that a sandbox has on the machine, where it has no file view: the two
 * places of its program, and a file whose lock says that somebody is left who removes all of it.
 * Runs in the supervisor, which makes it, and in the init.
 */
#pragma once

/* Beside the program's places, so the program can neither open nor replace it. The supervisor, the
 * init and the guardian of a run share the lock; whoever gets it alone finds all of them gone. */
#define OWN_LOCK "lock"

/* Shares the lock until the descriptor is closed in every process that has it. 0, with *ret -1
 * where the file system has no locks; or -1 with errno: the directory is gone, or being removed. */
int own_directory_hold(const char *directory, int *ret);
/* When nothing of the run is left. A removal that is broken off leaves the lock's file, so it can
 * be begun again. */
void own_directory_remove(const char *directory);
