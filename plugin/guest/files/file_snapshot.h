/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a session's scratch, kept in the memory of a checkpoint: what is in its directories,
 * with modes and times. No state. Runs in checkpoints, single-threaded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The directories of a scratch, as long as a snapshot of them. */
struct file_snapshot_places {
    const char *home;
    const char *temporary;     /* with the sources of cells, which stay as they are */
    const char *shared_memory; /* NULL: it has none */
};
extern const struct file_snapshot_places file_snapshot_mounted_places;

struct file_snapshot {
    const struct file_snapshot_places *places;
    unsigned char *bytes; /* one entry behind the other */
    size_t length;
    size_t room;
};

/* Copies what is below the directories of the scratch, *ret is the caller's. false with errno:
 * EFBIG where it is too much, EINVAL where there is something else than directories, links and
 * files with one name, ENOMEM. */
bool file_snapshot_take(const struct file_snapshot_places *places, struct file_snapshot *ret);

/* Empties those directories, and puts everything back. false with errno: it is incomplete. */
bool file_snapshot_put_back(const struct file_snapshot *snapshot);

void file_snapshot_clear(struct file_snapshot *snapshot);
