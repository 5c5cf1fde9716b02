/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the engine is: reading its address, looking in the usual places where none is given, and
 * saying why nobody can be reached there. Runs in the docker backend.
 *
 * The first of these that says something decides, and is the only one that is tried; its fault is
 * told, and never passed over for another engine:
 *   the description's host
 *   the description's docker context, else docker's current one
 *   the first that exists of Docker's socket, rootless Docker's, Podman's, rootless Podman's
 * A socket that exists but refuses is what a docker user would be told of too: code must not run
 * on another engine because the usual one is down.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/un.h>

#include "backends/docker/engine/engine_fault.h"
#include "protocol/run_description.h"

#define ENGINE_CA          "ca.pem"
#define ENGINE_CERTIFICATE "cert.pem"
#define ENGINE_KEY         "key.pem"

struct engine_address {
    char socket_path[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* "": over TCP */
    char base[300];              /* "http://host:port", or with TLS "https://host:port" */
    char certificates[PATH_MAX]; /* directory of ENGINE_CA; "": no TLS */
    bool client_certificate;     /* ENGINE_CERTIFICATE and ENGINE_KEY are there too */
};

/* Addresses are "unix:///path", "tcp://host[:port]", the same with http, and "https://host[:port]".
 * TCP is spoken to over TLS where the description or the context says so; without TLS it must be
 * this machine's loopback. Certificates are files of the description's directory, else of docker's
 * own; ca.pem must be there, the other two may be missing together. */
bool engine_address_resolve(const struct run_docker *docker, struct engine_address *ret,
                            struct engine_fault *fault);

/* The first of the paths at which there is anything. */
bool engine_address_find(const char *const *paths, size_t count, struct engine_address *ret,
                         struct engine_fault *fault);

/* After a failed connection to a socket: tries once more by hand and names the reason. */
void engine_address_diagnose(const struct engine_address *address, struct engine_fault *fault);
