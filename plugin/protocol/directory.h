/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A directory by its identity, not by its path, which may lead elsewhere at another moment. The
 * plugin names the one that it has checked, and a backend shows no other. Any process and thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* As stat(2) has it; unique while the directory is open or exists. */
struct directory_id {
    uint64_t device;
    uint64_t inode;
};

bool directory_id_equal(const struct directory_id *one, const struct directory_id *other);

/* Opens the directory with O_PATH and close-on-exec, without following a link on the whole way, and
 * says which one it is. The descriptor is the caller's. -1 with errno: EINVAL for a path that is
 * relative or has an empty, "." or ".." part; ENOTDIR for a link too. */
int directory_open(const char *path, struct directory_id *ret);
