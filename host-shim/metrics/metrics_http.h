/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's metrics over HTTP, for a collector on this machine (--metrics-listen): a loopback
 * address, GET /metrics and nothing else, one client at a time, and each for a second at most. A
 * library would need as much code: the address, method, path and Host are ours to check, and
 * libmicrohttpd counts its time-outs in seconds and drags in a TLS library. The metrics thread;
 * opening: main thread.
 */
#pragma once

#include <stddef.h>

#include "base/failure.h"

/* ADDRESS:PORT, where the address is 127.0.0.1 or [::1]. *ret_fd does not block, the caller's. */
bool metrics_http_open(const char *address, int *ret_fd, struct failure *failure);

/* Serves the next client, if there is one. make gives the text, new, or NULL where there is none;
 * it is called for a good request only. */
void metrics_http_serve(int listener, char *(*make)(void *user, size_t *ret_length), void *user);
