/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration of a container: container.json, and what varies: the image, the limits, the
 * labels, and the operator's runtime and network. Neither code nor a secret can get into it,
 * because it is made of nothing of the program's. And whether a container is as it was asked for.
 * Pure code.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "backends/guest_runs/container/owner.h"
#include "protocol/run_description.h"

#define CONTAINER_USER 65534 /* nobody, in every distribution's passwd */

/* The body of POST /containers/create for one run; new, NULL when out of memory or where a text in
 * it is not UTF-8. runtime: the OCI runtime, "" for the engine's default; image: its id; seccomp:
 * the profiles without and with a network; now: the time, in seconds. */
json_t *container_config_for_run(const struct run_description *description, const char *runtime,
                                 const char *image, const struct owner *owner,
                                 const char *const seccomp[2], int64_t now);

/* The same without labels: runs with the same template can use each other's container. */
json_t *container_config_template(const struct run_description *description, const char *runtime,
                                  const char *image, const char *const seccomp[2]);
/* What gVisor has otherwise: its own kernel counts the run's processes, and the engine's limit
 * counts what the sandbox has of threads and processes on the machine. config: for a run with these
 * limits; the same without a limit of processes. false: out of memory. */
bool container_config_suit_gvisor(json_t *config, const struct run_limits *limits);
/* Which interpreter waits in containers of that template. */
enum run_interpreter container_config_interpreter(const json_t *template);
/* A configuration of that template, for a container that waits at most waiting_s for a run. Its
 * labels name no run. */
json_t *container_config_waiting(json_t *template, const struct owner *owner, int64_t now,
                                 uint64_t waiting_s);

/* Is the container that the engine made the one that was asked for? asked: the configuration; made:
 * the answer of GET /containers/ID/json before the start. Whatever nobody asked for is refused as
 * well. false with the name of the first member that differs in *field. */
bool container_attest(const json_t *asked, const json_t *made, char *field, size_t size);
