/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker's contexts: names for engines, kept by "docker context" in the directory of docker's own
 * configuration. Only read here. Runs in the docker backend.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "backends/docker/engine/engine_fault.h"
#include "protocol/run_description.h"

struct engine_context {
    char host[RUN_HOST_LIMIT + 1];
    char certificates[PATH_MAX]; /* directory of its TLS files, "": it has none */
};

/* The name of the context that docker would take, "" for none: the description's, else the current
 * one of config.json; "default" is no context. A configuration that is there but cannot be read is
 * a fault: its engine may be another than the one that would be found without it. */
bool engine_context_choose(const struct run_docker *docker, char ret_name[RUN_NAME_LIMIT + 1],
                           struct engine_fault *fault);

/* What is stored of that context. A context that is not there is a fault. */
bool engine_context_read(const char *directory, const char *name, struct engine_context *ret,
                         struct engine_fault *fault);
