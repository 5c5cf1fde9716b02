/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the names of the isolation layers. Runs in the plugin and every backend, on any thread. */
#include "layers.h"

static const struct {
    const char *name;
    const char *meaning;
} layers[LAYER_COUNT] = {
#define X(constant, name, meaning) {name, meaning},
    ISOLATION_LAYERS(X)
#undef X
};

const char *isolation_layer_name(enum isolation_layer layer)
{
    return layers[layer].name;
}

const char *isolation_layer_meaning(enum isolation_layer layer)
{
    return layers[layer].meaning;
}
