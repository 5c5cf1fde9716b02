/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guests that are installed beside this program: code-execute-guest for images of this
 * machine's architecture, code-execute-guest-ARCHITECTURE for others. Runs in the docker backend.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "backends/docker/engine/engine.h"
#include "backends/docker/image/derived_image.h"

#define GUEST_ARCHITECTURE_LIMIT 15 /* bytes of the name of an architecture */

struct guest_file {
    char architecture[GUEST_ARCHITECTURE_LIMIT + 1]; /* as engines call it; "": nothing is here */
    struct guest_identity identity;
    /* Digest of the layer that an engine has made of the archive, where it is none of the usual
     * ones: by the engine's place in the environment; "": not known. */
    char made_layers[ENGINES_LIMIT][LAYER_DIGEST_LIMIT + 1];
    unsigned char *archive; /* owned */
    size_t length;
};

/* This machine's, as engines call it. */
extern const char guest_file_own_architecture[];

/* Reads the guest for images of that architecture; false with the fault. */
bool guest_file_read(const char *architecture, struct guest_file *ret, struct engine_fault *fault);
void guest_file_clear(struct guest_file *guest);
