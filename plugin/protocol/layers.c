/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the texts on the isolation layers. Runs in the plugin and every backend, on any thread. */
#include "layers.h"

static const struct {
    const char *name;
    const char *meaning;
    const char *remedy;
} layers[LAYER_COUNT] = {
#define X(constant, name, meaning, need, remedy) {name, meaning, remedy},
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

const char *isolation_layer_remedy(enum isolation_layer layer)
{
    return layers[layer].remedy;
}
