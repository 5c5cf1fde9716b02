/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's mount calls by descriptor (Linux 5.12), as the view uses them: a mount is made
 * detached, restricted, and only then put at its place, so that it is nowhere seen unrestricted and
 * no path is looked up twice. No state. Runs in pid 1 of a sandbox.
 */
#pragma once

#include <stdint.h>

/* Each returns a descriptor or 0, or -1 with errno. */

/* A new tmpfs of at most bytes and inodes (0: no cap), set-user-ID and devices without effect. */
int mount_fd_tmpfs(uint64_t bytes, uint64_t inodes, const char *mode);
/* A read-only overlay of the first directory upon the other, both open with O_PATH in this mount
 * namespace. flags: MOUNT_ATTR_*. */
int mount_fd_overlay(int directory, int other, uint64_t flags);
/* A detached copy of what path shows below directory, with every mount under it. */
int mount_fd_clone(int directory, const char *path);
/* Adds MOUNT_ATTR_* flags, on everything under it as well. */
int mount_fd_restrict(int mount, uint64_t flags);
/* Takes MOUNT_ATTR_* flags off, of this mount alone. */
int mount_fd_allow(int mount, uint64_t flags);
/* Puts the detached mount at path below directory. */
int mount_fd_attach(int mount, int directory, const char *path);
