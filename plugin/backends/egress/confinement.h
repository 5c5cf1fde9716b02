/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the broker gives up before it takes the first order: its user where that is root, every
 * capability, the file system but for what libraries read, and all system calls but those of the
 * list in confinement.c. One thread.
 */
#pragma once

/* NULL, or what could not be given up, with errno. */
const char *confinement_enter(void);
