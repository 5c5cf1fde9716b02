/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections to upstreams that are kept: one pool (a libcurl multi handle) for each principal,
 * endpoint's name, base URL, CA, kind of addresses and credential. A run has its own share of a
 * pool only for as long as it is under way; an idle pool is dropped. One thread.
 */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>

#include "backends/common/event_loop.h"
#include "protocol/orders/egress_order.h"

struct pools; /* all of the broker */
struct pool;

/* Once a process, ahead of threads: libcurl, whose memory is wiped when it is freed. */
bool pools_prepare_library(void);
struct pools *pools_new(struct event_loop *loop);
void pools_free(struct pools *pools);

/* The pool of that endpoint, an existing one or a new one; NULL: out of memory. Each call is paired
 * with one of pool_release(). */
struct pool *pool_obtain(struct pools *pools, const char *principal,
                         const struct egress_endpoint *endpoint);
void pool_release(struct pool *pool);

CURLM *pool_multi(struct pool *pool);
/* The certificates that alone are trusted, PEM; of length 0: the system's. They live as long as
 * the pool. */
const struct wire_bytes *pool_ca(const struct pool *pool);
