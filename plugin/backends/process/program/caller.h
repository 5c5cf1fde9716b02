/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process whose call the kernel holds (notification.h), as the init that hears of the call sees
 * it: by /proc, because containers refuse pidfd_getfd(2). The caller may be killed at any time, and
 * its number be another's. So what was found counts only if the call is still held afterwards
 * (notification_is_valid). A caller that is not dumpable shows nothing (EPERM). Runs in inits,
 * single-threaded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What one of its descriptors refers to, or its working directory for AT_FDCWD, as a descriptor
 * with O_PATH. -1 with errno. */
int caller_open(pid_t caller, int fd);

/* What a path is for the caller, with O_PATH; flags: 0 or O_NOFOLLOW. It follows no links of /proc,
 * which are this process's here, but /proc/self/fd/NUMBER. -1 with errno. */
int caller_open_path(pid_t caller, int directory, const char *path, int flags);

/* size bytes of its memory. false with errno. */
bool caller_read(pid_t caller, uint64_t address, void *ret, size_t size);

/* A string of its memory that ends within the size. false with errno. */
bool caller_read_path(pid_t caller, uint64_t address, char *ret, size_t size);
