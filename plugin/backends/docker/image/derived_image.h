/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A derived image: an image of the policy (its base) with the guest as one more layer, and maybe a
 * set of packages as another one. What is asked for to make one, and whether an image is one. Pure
 * code.
 *
 * Labels only find it: an image that somebody has pulled may have them too. It is taken by what it
 * is made of: the base's layers, a layer whose digest is the guest's, and the base's configuration.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define DERIVED_LABEL_BASE     "code-execute.base"     /* id of the policy's image */
#define DERIVED_LABEL_GUEST    "code-execute.guest"    /* SHA-256 of the guest */
#define DERIVED_LABEL_PACKAGES "code-execute.packages" /* hash of the set, if it has one */

#define IMAGE_ID_LIMIT     79 /* bytes */
#define LAYER_DIGEST_LIMIT 71 /* "sha256:" and 64 digits */
#define GUEST_LAYERS       2

/* What a guest is known by. */
struct guest_identity {
    char digest[65]; /* SHA-256, hexadecimal */
    char layers[GUEST_LAYERS]
               [LAYER_DIGEST_LIMIT + 1]; /* of a layer with it: guest_archive_make() */
};

/* What is in an image beside its base, as its labels say it. */
struct derived_identity {
    const char *base_id;
    const char *guest;    /* its SHA-256 */
    const char *packages; /* NULL: none */
};

/* base: the answer of GET /images/NAME/json, for an image with packages of the one with the guest.
 */

/* The body of POST /containers/create for the container that becomes the image and never runs;
 * labels: its owner's; seccomp: a profile, which an engine that takes none refuses at once. New,
 * NULL when out of memory. */
json_t *derived_image_container(const json_t *base, const char *base_id, const char *seccomp,
                                json_t *labels);
/* The body of POST /commit: the base's configuration with our labels, and without the owner's,
 * which the engine would take from the container. New, NULL when out of memory. */
json_t *derived_image_config(const json_t *base, const struct derived_identity *identity,
                             json_t *owner_labels);

/* Is the image what it has to be? false with the name of the first member that differs. Its own
 * layer is not looked at: derived_image_layer(). */
bool derived_image_attest(const json_t *base, const struct derived_identity *identity,
                          const json_t *image, char *field, size_t size);
/* The digest of its last layer (borrowed); NULL where there is none. */
const char *derived_image_layer(const json_t *image);
/* Does that layer hold the guest and its names, and nothing else? */
bool derived_image_layer_is_known(const struct guest_identity *guest, const char *layer);

/* Whether an entry of GET /images/json may be a derived image: it has no name, as none of ours has.
 * The others are never used, and never removed. */
bool derived_image_is_ours(const json_t *entry);
/* An entry's label, borrowed; NULL: it has none. */
const char *derived_image_base(const json_t *entry);
bool derived_image_is_of_guest(const json_t *entry, const char *digest);
/* Whether it has that set of packages; NULL: none. */
bool derived_image_has_packages(const json_t *entry, const char *packages);
/* Whether the other entry is of the same base, guest and packages, and newer. */
bool derived_image_replaces(const json_t *other, const json_t *entry);
/* Made longer ago than that many seconds. */
bool derived_image_is_older(const json_t *entry, int64_t now, int64_t seconds);
/* Whether the image, as GET /images/NAME/json describes it, has a name. */
bool derived_image_base_is_named(const json_t *base);
