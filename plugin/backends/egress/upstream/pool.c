/* SPDX-License-Identifier: Apache-2.0 */
/* Owns libcurl's multi handles, their sockets and timers: see pool.h. Runs in the broker. */
#include "backends/egress/upstream/pool.h"

#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "backends/egress/upstream/transfer.h"
#include "base/cleanup.h"
#include "base/sha256.h"

#define IDLE_MS     60000
#define CONNECTIONS 16L /* that a pool keeps */

struct pool_socket {
    struct watch watch;
    struct pool *pool;
    struct pool_socket *next;
};

struct pool {
    struct pools *pools;
    struct pool *next;
    char key[SHA256_TEXT_LENGTH + 1];
    struct wire_bytes ca;
    size_t users;
    CURLM *multi;
    struct timer curl_timer;
    struct timer idle_timer;
    struct pool_socket *sockets;
};

struct pools {
    struct event_loop *loop;
    struct pool *first;
};

/* Credentials are in libcurl's buffers while a request is sent. */
static void wiping_free(void *memory)
{
    if (memory)
        explicit_bzero(memory, malloc_usable_size(memory));
    free(memory);
}

static void *wiping_realloc(void *memory, size_t size)
{
    size_t old = memory ? malloc_usable_size(memory) : 0;
    if (memory && size <= old)
        return memory;
    void *grown = malloc(size);
    if (grown && memory) {
        memcpy(grown, memory, old);
        wiping_free(memory);
    }
    return grown;
}

bool pools_prepare_library(void)
{
    return curl_global_init_mem(CURL_GLOBAL_DEFAULT, malloc, wiping_free, wiping_realloc, strdup,
                                calloc) == CURLE_OK;
}

struct pools *pools_new(struct event_loop *loop)
{
    struct pools *pools = calloc(1, sizeof(*pools));
    if (pools)
        pools->loop = loop;
    return pools;
}

static void drive(struct pool *pool, curl_socket_t socket, int events)
{
    int running;
    (void)curl_multi_socket_action(pool->multi, socket, events, &running);
    transfers_finish(pool->multi);
}

static void on_socket(struct watch *watch, uint32_t events)
{
    struct pool *pool = CONTAINER_OF(watch, struct pool_socket, watch)->pool;
    int happened = (events & EPOLLIN ? CURL_CSELECT_IN : 0) |
                   (events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                   (events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
    drive(pool, watch->fd, happened); /* the watch may be gone then */
}

static void on_curl_timer(struct timer *timer)
{
    drive(CONTAINER_OF(timer, struct pool, curl_timer), CURL_SOCKET_TIMEOUT, 0);
}

static void forget_socket(struct pool_socket *socket)
{
    struct pool *pool = socket->pool;
    struct pool_socket **place = &pool->sockets;
    while (*place != socket)
        place = &(*place)->next;
    *place = socket->next;
    event_loop_unwatch(pool->pools->loop, &socket->watch);
    free(socket);
}

/* libcurl wants to hear of a socket, of other events of it, or not any more. */
static int on_interest(CURL *easy, curl_socket_t fd, int interest, void *user, void *assigned)
{
    (void)easy;
    struct pool *pool = user;
    struct pool_socket *socket = assigned;
    uint32_t events =
        (interest & CURL_POLL_IN ? EPOLLIN : 0U) | (interest & CURL_POLL_OUT ? EPOLLOUT : 0U);
    if (interest == CURL_POLL_REMOVE) {
        if (socket)
            forget_socket(socket);
        return 0;
    }
    if (socket)
        return event_loop_change(pool->pools->loop, &socket->watch, events);
    socket = calloc(1, sizeof(*socket));
    if (!socket)
        return -1;
    *socket = (struct pool_socket){.watch = {fd, on_socket}, .pool = pool, .next = pool->sockets};
    pool->sockets = socket;
    if (event_loop_watch(pool->pools->loop, &socket->watch, events) < 0 ||
        curl_multi_assign(pool->multi, fd, socket) != CURLM_OK) {
        forget_socket(socket);
        return -1;
    }
    return 0;
}

static int on_timeout(CURLM *multi, long milliseconds, void *user)
{
    (void)multi;
    struct pool *pool = user;
    if (milliseconds < 0)
        event_loop_cancel(pool->pools->loop, &pool->curl_timer);
    else
        event_loop_after(pool->pools->loop, &pool->curl_timer, (uint64_t)milliseconds);
    return 0;
}

static void pool_free(struct pool *pool)
{
    struct pool **place = &pool->pools->first;
    while (*place && *place != pool)
        place = &(*place)->next;
    if (*place)
        *place = pool->next;
    if (pool->multi)
        (void)curl_multi_cleanup(pool->multi);
    while (pool->sockets)
        forget_socket(pool->sockets);
    event_loop_cancel(pool->pools->loop, &pool->curl_timer);
    event_loop_cancel(pool->pools->loop, &pool->idle_timer);
    free(pool->ca.bytes);
    free(pool);
}

static void on_idle(struct timer *timer)
{
    pool_free(CONTAINER_OF(timer, struct pool, idle_timer));
}

void pools_free(struct pools *pools)
{
    while (pools && pools->first)
        pool_free(pools->first);
    free(pools);
}

static void add_part(struct sha256 *hash, const void *bytes, uint64_t length)
{
    sha256_add(hash, &length, sizeof(length));
    sha256_add(hash, bytes, length);
}

static void make_key(const char *principal, const struct egress_endpoint *endpoint,
                     char key[SHA256_TEXT_LENGTH + 1])
{
    struct sha256 hash;
    sha256_begin(&hash);
    add_part(&hash, principal, strlen(principal));
    add_part(&hash, endpoint->name, strlen(endpoint->name));
    add_part(&hash, endpoint->base_url, strlen(endpoint->base_url));
    add_part(&hash, endpoint->ca.bytes, endpoint->ca.length);
    add_part(&hash, &endpoint->private_addresses, sizeof(endpoint->private_addresses));
    add_part(&hash, endpoint->credential.bytes, endpoint->credential.length);
    sha256_end(&hash, key);
    explicit_bzero(&hash, sizeof(hash));
}

static bool set_up(struct pool *pool, const struct egress_endpoint *endpoint)
{
    if (endpoint->ca.length > 0) {
        pool->ca.bytes = malloc(endpoint->ca.length);
        if (!pool->ca.bytes)
            return false;
        memcpy(pool->ca.bytes, endpoint->ca.bytes, endpoint->ca.length);
        pool->ca.length = endpoint->ca.length;
    }
    pool->multi = curl_multi_init();
    return pool->multi &&
           curl_multi_setopt(pool->multi, CURLMOPT_SOCKETFUNCTION, on_interest) == CURLM_OK &&
           curl_multi_setopt(pool->multi, CURLMOPT_SOCKETDATA, pool) == CURLM_OK &&
           curl_multi_setopt(pool->multi, CURLMOPT_TIMERFUNCTION, on_timeout) == CURLM_OK &&
           curl_multi_setopt(pool->multi, CURLMOPT_TIMERDATA, pool) == CURLM_OK &&
           curl_multi_setopt(pool->multi, CURLMOPT_MAXCONNECTS, CONNECTIONS) == CURLM_OK;
}

struct pool *pool_obtain(struct pools *pools, const char *principal,
                         const struct egress_endpoint *endpoint)
{
    char key[SHA256_TEXT_LENGTH + 1];
    make_key(principal, endpoint, key);
    struct pool *pool = pools->first;
    while (pool && strcmp(pool->key, key) != 0)
        pool = pool->next;
    if (!pool) {
        pool = calloc(1, sizeof(*pool));
        if (!pool)
            return NULL;
        *pool = (struct pool){.pools = pools,
                              .next = pools->first,
                              .curl_timer = {.fire = on_curl_timer},
                              .idle_timer = {.fire = on_idle}};
        memcpy(pool->key, key, sizeof(key));
        pools->first = pool;
        if (!set_up(pool, endpoint)) {
            pool_free(pool);
            return NULL;
        }
    }
    event_loop_cancel(pools->loop, &pool->idle_timer);
    pool->users++;
    return pool;
}

void pool_release(struct pool *pool)
{
    if (pool && --pool->users == 0)
        event_loop_after(pool->pools->loop, &pool->idle_timer, IDLE_MS);
}

CURLM *pool_multi(struct pool *pool)
{
    return pool->multi;
}

const struct wire_bytes *pool_ca(const struct pool *pool)
{
    return &pool->ca;
}
