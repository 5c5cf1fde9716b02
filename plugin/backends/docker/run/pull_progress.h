/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine's report on an image that it fetches, one JSON text a line, summed up for people. Pure
 * code.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PULL_LAYERS_LIMIT 128 /* layers beyond it are not counted */

struct pull_layer {
    char id[16];
    uint64_t current; /* bytes fetched */
    uint64_t total;   /* 0: not known yet */
    bool fetched;
};

/* Starts all zero. */
struct pull_progress {
    struct pull_layer layers[PULL_LAYERS_LIMIT];
    size_t layer_count;
    char refusal[160]; /* "": none so far */
};

/* Takes one line; what is no JSON object changes nothing. */
void pull_progress_take(struct pull_progress *progress, const char *bytes, size_t length);

/* "pulling NAME: 2 of 5 layers, 10.4 of 31.0 MB" */
void pull_progress_text(const struct pull_progress *progress, const char *image, char *text,
                        size_t size);
