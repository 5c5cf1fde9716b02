/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the engine reports about itself and about an image, and whether that is sufficient. Pure
 * code.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "backends/docker/engine/engine_address.h"
#include "protocol/run_description.h"

#define ENGINE_API_MINIMUM 41 /* 1.41: CgroupnsMode (Docker 20.10, Podman 4) */
#define ENGINE_API_MAXIMUM 44 /* what this backend knows; engines speak older ones too */

struct engine_facts {
    unsigned int api; /* the minor version both speak: 1.<api> */
    char name[32];    /* "docker" or "podman" */
    char version[48];
    bool rootless;
    bool user_namespace;
    uint32_t cgroup_version;
    char runtime[64];   /* the engine's default */
    json_t *runtimes;   /* of GET /info, by name; NULL: it has none. Owned */
    json_t *components; /* of GET /version, with the runtimes' versions. Owned */
};

void engine_facts_clear(struct engine_facts *facts);

/* The answers of GET /version and GET /info; false with the fault. */
bool engine_facts_of_version(const json_t *version, struct engine_facts *ret,
                             struct engine_fault *fault);
bool engine_facts_of_info(const json_t *info, struct engine_facts *ret, struct engine_fault *fault);

/* Whether the engine has the runtime ("": its default one). */
bool engine_facts_have_runtime(const struct engine_facts *facts, const char *runtime,
                               struct engine_fault *fault);
/* Is that runtime ("": the default one) gVisor's, by its name or that of its program? What the
 * container's kernel is, is the guest's to say. */
bool engine_facts_runtime_is_gvisor(const struct engine_facts *facts, const char *runtime);
/* The runtime's version, "" where the engine does not report it. */
void engine_facts_runtime_version(const struct engine_facts *facts, const char *runtime,
                                  char *version, size_t size);

/* The id (borrowed) of GET /images/NAME/json, and whether the image can be taken: the one that the
 * description's digest or id names, without volumes of its own. */
bool engine_facts_of_image(const json_t *image, const struct run_image *wanted, const char **ret_id,
                           struct engine_fault *fault);

/* 64 hexadecimal digits, nothing else. */
bool engine_id_is_good(const char *id);
/* The same, or with "sha256:" before it. */
bool engine_image_id_is_good(const char *id);
/* It can be a part of an API path without encoding. */
bool engine_image_name_is_good(const char *name);
/* It ends with @sha256: and a digest, or is an id. */
bool engine_image_is_pinned(const char *name);
