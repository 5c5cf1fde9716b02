/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making a derived image, or finding it in the engine: see image_store.h. One derivation serves all
 * runs that want its image meanwhile, and goes on without them. Runs in the docker backend,
 * single-threaded; no function here waits.
 */
#pragma once

#include "backends/docker/image/image_store.h"

/* Adds the waiter to the derivation of that base in that engine, with the packages (NULL: with the
 * guest alone), and begins one where none is under way. */
void derivation_join(struct docker_environment *environment, struct engine *engine, json_t *base,
                     const char *base_id, const struct run_packages *packages,
                     struct image_waiter *waiter);
/* Whatever the engine has not answered yet is not waited for again. */
void derivation_leave_all(struct image_store *store, const struct engine *engine);
void derivation_free_all(struct image_store *store);
