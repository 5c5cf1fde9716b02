/* SPDX-License-Identifier: Apache-2.0 */
/* A copy of a program where every user can walk to it: a build may be in a directory of root's own.
 * Ends the test where it cannot be had. Any thread. */
#pragma once

/* place: a path whose directory ends with XXXXXX, as of mkdtemp(3), and is made. */
void copy_program(const char *program, char *place);
/* With that directory, which is empty but for it. */
void remove_copied_program(char *place);
