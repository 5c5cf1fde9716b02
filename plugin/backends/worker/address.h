/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a worker listens: a numeric address with a port, "192.0.2.7:7443" or "[::]:7443". Runs in
 * code-execute-worker.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/error.h"

struct listen_address {
    struct sockaddr_storage address;
    socklen_t length;
};

/* false where it is none. Port 0: any that is free. */
bool listen_address_parse(const char *text, struct listen_address *ret);

/* A listening TCP socket that does not block, CLOEXEC, the caller's; -1 with
 * ERROR_BACKEND_UNAVAILABLE. */
int listen_address_open(const char *text, struct error *error);
/* Writes the socket's "address:port" into text. */
void socket_address_write(const struct sockaddr_storage *address, char *text, socklen_t size);
/* The same of what a listening socket is bound to. */
void listening_address_write(int listener, char *text, socklen_t size);
