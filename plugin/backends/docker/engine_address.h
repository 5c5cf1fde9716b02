/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the engine is: reading its address, looking in the usual places where none is given, and
 * saying why nobody can be reached there. Runs in the docker backend.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/un.h>

#include "../../protocol/run_description.h"
#include "engine_fault.h"

struct engine_address {
    char socket_path[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* "": over TCP */
    char base[300];                                                /* "http://host:port" */
};

/* "unix:///path", "tcp://host:port" or "http://host:port"; "" is the first socket that exists of
 * the engine's usual places (Docker's, rootless Docker's, Podman's). */
bool engine_address_resolve(const struct run_docker *docker, struct engine_address *ret,
                            struct engine_fault *fault);

/* After a failed connection: tries once more by hand and names the reason. */
void engine_address_diagnose(const struct engine_address *address, struct engine_fault *fault);
