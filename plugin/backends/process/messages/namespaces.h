/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The namespaces that a sandbox has of its own, and the proof that it has them: namespaces(7)
 * allows the inode numbers of two processes to be compared. The flags of a clone only say what was
 * asked for.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "protocol/layers.h"

enum namespace {
    NAMESPACE_USER,
    NAMESPACE_PID,
    NAMESPACE_MOUNT,
    NAMESPACE_NETWORK,
    NAMESPACE_IPC,
    NAMESPACE_UTS,
    NAMESPACE_COUNT
};

extern const struct namespace_kind {
    unsigned long flag; /* of clone(2) */
    enum isolation_layer layer;
    const char *file; /* in /proc/self/ns */
} namespace_kinds[NAMESPACE_COUNT];

/* Those of one process. */
struct namespaces {
    ino_t inodes[NAMESPACE_COUNT];
};

/* Those of the calling process, by the /proc of its root. false with errno: they cannot be told. */
bool namespaces_read(struct namespaces *ret);
bool namespace_read(enum namespace which, ino_t *ret);
