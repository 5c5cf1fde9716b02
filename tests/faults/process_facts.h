/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc tells of a process. Any thread. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* A file of the process as text; its length, 0: there is none. */
size_t read_text(pid_t pid, const char *file, char *text, size_t size);
pid_t parent_of(pid_t pid);
/* The letter of proc(5); NUL: there is no such process. */
char state_of(pid_t pid);
