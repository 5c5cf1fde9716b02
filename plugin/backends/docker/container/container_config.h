/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one container configuration: everything in it is constant but the image, the limits, the
 * labels, and what the operator settles: runtime, network. Neither code nor a secret can
 * get into it, because nothing of the program is given to it. Pure code.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "backends/docker/engine/owner.h"
#include "protocol/run_description.h"

#define CONTAINER_USER 65534 /* nobody, in every distribution's passwd */

/* All that may vary. */
struct container_wish {
    const char *image; /* its id */
    const struct run_limits *limits;
    json_t *labels;      /* borrowed: an object of strings */
    const char *seccomp; /* the profile's text, always the same but for the network */
    const char *runtime; /* OCI runtime, "": the engine's default */
    bool network;        /* the engine's bridge, else none */
    /* Of the bootstrap: an interpreter that waits. The operator's; NULL: none */
    json_t *interpreter;
};

/* The body of POST /containers/create; new, NULL when out of memory or where the image or a label
 * is not UTF-8. */
json_t *container_config(const struct container_wish *wish);

/* The same for a run: what of its description gets into a configuration at all. seccomp: the
 * profiles without and with a network; now: the time, in seconds. */
json_t *container_config_for_run(const struct run_description *description, const char *image,
                                 const struct owner *owner, const char *const seccomp[2],
                                 int64_t now);

/* The same without labels: runs with the same template can have each other's container. */
json_t *container_config_template(const struct run_description *description, const char *image,
                                  const char *const seccomp[2]);
/* Which interpreter waits in containers of that template. */
enum run_interpreter container_config_interpreter(const json_t *template);
/* A configuration of that template for a container that waits for so long at the most before it has
 * a run; which one is in none of its labels. */
json_t *container_config_waiting(json_t *template, const struct owner *owner, int64_t now,
                                 uint64_t waiting_s);
