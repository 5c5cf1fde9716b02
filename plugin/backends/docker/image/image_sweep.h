/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removing derived images that nobody needs: those of another guest, second ones, and those whose
 * base is gone or has lost its name; only where they are older than a day and no container is of
 * them, because another gateway may use the engine too. An image that has a name, or lacks our
 * labels, is never removed. Runs in the docker backend.
 */
#pragma once

#include "backends/docker/image/image_store.h"

typedef void image_sweep_done(void *user);

/* Begins, and ends with done; false when out of memory. */
bool image_sweep_start(struct docker_environment *environment, struct engine *engine,
                       image_sweep_done *done, void *user);
