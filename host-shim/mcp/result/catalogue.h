/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A provider's tools as the Model Context Protocol lists them, made once from its manifest and its
 * status. Constant once made: any thread may read.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/failure.h"

struct catalogue {
    json_t *tools;        /* of tools/list, in the manifest's order */
    json_t *manifest;     /* the manifest's "tools" of the same */
    json_t *instructions; /* the manifest's, a string; NULL: it has none */
    char provider[128];
    char version[64];
};

/* manifest_text is the provider's. status (or NULL) may say under "annotations", by a tool's name,
 * how the configuration in force changes the manifest's annotations, and under "input_schemas" what
 * it leaves of the input schema. full: the whole output will be
 * sent, and not what the manifest calls brief. */
bool catalogue_make(const char *manifest_text, const json_t *status, bool full,
                    struct catalogue *ret, struct failure *failure);
/* The manifest's tool of that name or alias; NULL where there is none. */
const json_t *catalogue_find(const struct catalogue *catalogue, const char *name);
/* Does the tool say what its result looks like? */
bool catalogue_is_structured(const json_t *tool);
void catalogue_clear(struct catalogue *catalogue);
