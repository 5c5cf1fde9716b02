/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing the small files of the cgroup file systems. No state. Runs in the supervisor.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The file, opened with flags; -1 with errno. */
int cgroup_file_open(const char *directory, const char *file, int flags);

/* Writes the text in one write(2) call, as the kernel wants it. 0, or -1 with errno. */
int cgroup_file_write(const char *directory, const char *file, const char *text);
int cgroup_file_write_number(const char *directory, const char *file, uint64_t number);
/* The first size - 1 bytes, terminated. false where the file cannot be read. */
bool cgroup_file_read(const char *directory, const char *file, char *text, size_t size);
/* The number behind key in a file of "key number" lines, or the file's only number with key NULL; 0
 * where there is none. */
uint64_t cgroup_file_number(const char *directory, const char *file, const char *key);
