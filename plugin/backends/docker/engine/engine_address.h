/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the engine is: reading its address, looking in the usual places where none is given, and
 * explaining why a socket cannot be connected to. Runs in the docker backend.
 *
 * The first of these that is given decides, and is the only one that is tried:
 *   the description's host
 *   the description's docker context, else docker's current one
 *   the first that exists of Docker's socket, rootless Docker's, Podman's, rootless Podman's
 * A fault of it is reported. Code must not run on another engine because the usual one is down.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/un.h>

#include "backends/docker/engine/engine_fault.h"
#include "backends/docker/messages/docker_messages.h"

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
 * TCP uses TLS where the description or the context says so; without TLS it must be this machine's
 * loopback. Certificates are files of the description's directory, else of docker's own; ca.pem
 * must be there, the other two may both be missing. */
bool engine_address_resolve(const struct docker_options *options, struct engine_address *ret,
                            struct engine_fault *fault);

/* The first of the paths that exists. */
bool engine_address_find(const char *const *paths, size_t count, struct engine_address *ret,
                         struct engine_fault *fault);

/* Why the socket cannot be connected to; reason: the errno of the attempt. */
void engine_address_explain(const struct engine_address *address, int reason,
                            struct engine_fault *fault);

/*
 * Docker's contexts: names for engines, stored by "docker context" in the directory of docker's own
 * configuration. They are only read here (engine_context.c).
 */
struct engine_context {
    char host[DOCKER_HOST_LIMIT + 1];
    char certificates[PATH_MAX]; /* directory of its TLS files, "": it has none */
};

/* The name of the context that docker would use, "" for none: the description's, else the current
 * one of config.json; "default" is no context. An unreadable configuration is a fault: the engine
 * that it names may be another than the one found without it. */
bool engine_context_choose(const struct docker_options *options, char ret_name[RUN_NAME_LIMIT + 1],
                           struct engine_fault *fault);

/* What is stored of that context. A context that does not exist is a fault. */
bool engine_context_read(const char *directory, const char *name, struct engine_context *ret,
                         struct engine_fault *fault);
