/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The digests of the layers that engines have made of a set of packages. An image that is found by
 * its labels is taken for one with the set only if its layer is one of them. They are kept in the
 * set's own directory, which is root's or the gateway's, for later backends; where this backend may
 * not write there, it knows its own alone. Runs in the docker backend.
 */
#pragma once

#include "backends/docker/image/image_store.h"

/* set: the directory sha256-HEX; packages: its hash. */
bool package_layer_is_known(const struct image_store *store, const struct engine *engine, int set,
                            const char *packages, const char *layer);
/* The engine has made it of bytes that were the set's. NULL is none. */
void package_layer_note(struct image_store *store, const struct engine *engine, int set,
                        const char *packages, const char *layer);
