/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guests that are installed beside this program: code-execute-guest for images of this
 * machine's architecture, code-execute-guest-ARCHITECTURE for others, in the form in which an
 * engine takes a file. Runs in the docker backend.
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

#define GUEST_LIMIT (4U << 20) /* bytes of a guest */

/* A new tar archive (POSIX ustar) with the guest, executable and readable (gVisor reads what an
 * ordinary user executes by his own right), and GUEST_INSTALLERS, of root and of a fixed time.
 * Engines with the overlay driver write the layer that is made of it in the same bytes, so its
 * digest is known beforehand. Pure code. NULL when out of memory, or where the guest is empty or
 * longer than the limit. owner: the name of uid and gid 0, at most 31 bytes; older engines write
 * "root", newer ones "". */
unsigned char *guest_archive_make(const unsigned char *guest, size_t length, const char *owner,
                                  size_t *ret_length);
