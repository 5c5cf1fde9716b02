/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a copy of an interpreter would not have, so that no checkpoint of it can be made. Runs in
 * the interpreter, in its main thread, between two cells.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "protocol/checkpoint.h"

/* How many descriptors this process has open; -1: that cannot be seen. */
int checkpoint_count_descriptors(void);

/* CHECKPOINT_TAKEN: there is none. descriptors: as many as an interpreter of no program's has, -1
 * where that is not known; children: how many checkpoints it has itself. init_looks: at its
 * children and its mappings, which this process cannot see. */
enum checkpoint_word checkpoint_find_obstacle(int descriptors, size_t children, bool init_looks);
