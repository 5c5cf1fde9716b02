/* SPDX-License-Identifier: Apache-2.0 */
/* Owns a tunnel from its CONNECT to its end: see tunnel.h. Runs in the broker. */
#include "backends/egress/tunnel/tunnel.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "backends/egress/loop/byte_queue.h"
#include "backends/egress/rules/target.h"
#include "backends/egress/tunnel/client_hello.h"
#include "backends/egress/upstream/answer.h"
#include "backends/egress/upstream/transfer.h"
#include "base/cleanup.h"
#include "base/deadline.h"

#define START_MS      15000 /* for CONNECT and ClientHello */
#define HEAD_LIMIT    8192
#define QUEUE_LIMIT   (64u << 10)
#define METHOD        "CONNECT "
#define METHOD_LENGTH 8

enum stage { STAGE_PEEK, STAGE_HEAD, STAGE_CONNECT, STAGE_HELLO, STAGE_OPEN };

/* One of the two ends. */
struct side {
    struct tunnel *tunnel;
    struct watch watch;
    int fd; /* owned; -1: none */
    uint32_t interest;
    bool ended;              /* it sends nothing any more */
    bool shut;               /* nor do we */
    struct byte_queue queue; /* on the way to it */
};

struct tunnel {
    struct tunnels *tunnels;
    struct tunnel *next;
    struct tunnel *previous;
    enum stage stage;
    uint64_t began_ms;
    struct timer timer;
    struct side program;
    struct side upstream;
    struct byte_queue head; /* CONNECT, then the ClientHello until it is judged */
    char *authority;        /* "host:port", as the program says */
    char *host;             /* of the endpoint, for the ClientHello */
    struct endpoint_state *endpoint;
    struct transfer *transfer;
    unsigned status;
    struct denial denial;
    uint64_t sent;
    uint64_t received;
};

static void move_bytes(struct tunnel *tunnel);

static void record(struct tunnel *tunnel)
{
    struct egress_record record = {
        .endpoint = tunnel->endpoint ? endpoints_index(tunnel->tunnels->endpoints, tunnel->endpoint)
                                     : EGRESS_NO_ENDPOINT,
        .method = strdup("CONNECT"),
        .path = printable_text(tunnel->authority, EGRESS_RECORD_PATH_LIMIT),
        .status = tunnel->status,
        .decision = tunnel->denial.code ? tunnel->denial.decision : EGRESS_ALLOWED,
        .reason = tunnel->denial.code ? strdup(tunnel->denial.reason) : NULL,
        .bytes_in = tunnel->received,
        .bytes_out = tunnel->sent,
        .duration_ms = monotonic_ms() - tunnel->began_ms,
    };
    records_add(tunnel->tunnels->records, &record);
}

static void side_close(struct side *side)
{
    event_loop_unwatch(side->tunnel->tunnels->loop, &side->watch);
    close_fd(TAKE_FD(side->fd));
    byte_queue_clear(&side->queue);
}

static void tunnel_free(struct tunnel *tunnel)
{
    struct tunnels *tunnels = tunnel->tunnels;
    if (tunnel->previous)
        tunnel->previous->next = tunnel->next;
    else
        tunnels->first = tunnel->next;
    if (tunnel->next)
        tunnel->next->previous = tunnel->previous;
    tunnels->count--;
    if (tunnel->authority)
        record(tunnel);
    if (tunnel->endpoint && tunnel->stage >= STAGE_CONNECT)
        tunnel->endpoint->in_flight--;
    transfer_abort(tunnel->transfer);
    event_loop_cancel(tunnels->loop, &tunnel->timer);
    side_close(&tunnel->program);
    side_close(&tunnel->upstream);
    byte_queue_clear(&tunnel->head);
    free(tunnel->authority);
    free(tunnel->host);
    free(tunnel);
}

static void on_time(struct timer *timer)
{
    struct tunnel *tunnel = CONTAINER_OF(timer, struct tunnel, timer);
    if (!tunnel->denial.code)
        denial_set(&tunnel->denial, 504, EGRESS_FAILED, "upstream_timeout",
                   "the tunnel's time was up");
    tunnel_free(tunnel);
}

/* false: it cannot be watched. */
static bool set_interest(struct side *side, uint32_t wanted)
{
    struct event_loop *loop = side->tunnel->tunnels->loop;
    if (side->fd < 0 || side->interest == wanted)
        return true;
    bool watched = side->watch.fd >= 0;
    side->interest = wanted;
    if (wanted == 0) {
        event_loop_unwatch(loop, &side->watch);
        return true;
    }
    side->watch.fd = side->fd;
    return (watched ? event_loop_change(loop, &side->watch, wanted)
                    : event_loop_watch(loop, &side->watch, wanted)) == 0;
}

/* What there is room for. The program does not have to wait for it. */
static void say(struct tunnel *tunnel, const char *text)
{
    (void)send(tunnel->program.fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Answers in HTTP, and ends it. */
static void deny(struct tunnel *tunnel)
{
    const struct egress_endpoint *order = tunnel->endpoint ? tunnel->endpoint->order : NULL;
    CLEANUP_FREE char *text = denial_text(&tunnel->denial, order);
    CLEANUP_FREE char *whole = NULL;
    tunnel->status = tunnel->denial.status;
    if (text && asprintf(&whole,
                         "HTTP/1.1 %u Refused\r\nContent-Type: application/json\r\n"
                         "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
                         tunnel->status, strlen(text), text) < 0)
        whole = NULL;
    if (whole)
        say(tunnel, whole);
    tunnel_free(tunnel);
}

/* The endpoint's host and port as CONNECT has them, in ret; the host's length. */
static size_t authority_of(const struct egress_endpoint *order, char ret[EGRESS_URL_LIMIT + 8])
{
    const char *host = strstr(order->base_url, "://") + 3;
    size_t length = strcspn(host, "/");
    const char *end = memchr(host, ']', length); /* of an IPv6 address */
    const char *from = end ? end : host;
    const char *colon = memchr(from, ':', length - (size_t)(from - host));
    (void)snprintf(ret, EGRESS_URL_LIMIT + 8, "%.*s%s", (int)length, host, colon ? "" : ":443");
    return colon ? (size_t)(colon - host) : length;
}

static struct endpoint_state *find_endpoint(struct tunnel *tunnel)
{
    struct endpoints *endpoints = tunnel->tunnels->endpoints;
    for (size_t i = 0; i < endpoints->order.endpoint_count; i++) {
        char authority[EGRESS_URL_LIMIT + 8];
        const struct egress_endpoint *order = &endpoints->order.endpoints[i];
        size_t host_length = authority_of(order, authority);
        if (order->tunnel && strcasecmp(authority, tunnel->authority) == 0) {
            tunnel->host = strndup(authority, host_length);
            return &endpoints->states[i];
        }
    }
    return NULL;
}

static void on_connected(void *user, enum transfer_fault fault, const char *text)
{
    struct tunnel *tunnel = user;
    int fd = fault == TRANSFER_OK ? transfer_take_socket(tunnel->transfer) : -1;
    tunnel->transfer = NULL; /* gone behind this call */
    if (fd < 0) {
        if (fault == TRANSFER_ADDRESS)
            denial_set(&tunnel->denial, 502, EGRESS_FAILED, "address_refused",
                       "the tunnel's host has an address that is not allowed (%s)", text);
        else
            denial_set(&tunnel->denial, fault == TRANSFER_TIMEOUT ? 504 : 502, EGRESS_FAILED,
                       fault == TRANSFER_TIMEOUT ? "upstream_timeout" : "upstream_unreachable",
                       "%s", text);
        deny(tunnel);
        return;
    }
    tunnel->upstream.fd = fd;
    tunnel->stage = STAGE_HELLO;
    tunnel->status = 200;
    say(tunnel, "HTTP/1.1 200 Connection established\r\n\r\n");
    move_bytes(tunnel);
}

static const struct transfer_handler connect_handler = {.done = on_connected};

static void connect_upstream(struct tunnel *tunnel)
{
    struct endpoint_state *endpoint = tunnel->endpoint;
    const struct egress_limits *limits = &endpoint->order->limits;
    if (endpoint->requests >= limits->requests || endpoint->in_flight >= limits->in_flight) {
        denial_set(&tunnel->denial, 429, EGRESS_BUDGET, "budget_exhausted",
                   "the run has made its %" PRIu64 " tunnels, or has %" PRIu64 " open",
                   limits->requests, limits->in_flight);
        deny(tunnel);
        return;
    }
    endpoint->requests++;
    endpoint->in_flight++;
    tunnel->stage = STAGE_CONNECT;
    (void)set_interest(&tunnel->program, 0);
    event_loop_after(tunnel->tunnels->loop, &tunnel->timer, limits->timeout_ms);
    tunnel->transfer = transfer_connect(endpoint->pool, endpoint->order, &connect_handler, tunnel);
    if (tunnel->transfer)
        return;
    denial_set(&tunnel->denial, 503, EGRESS_FAILED, "out_of_memory", "the broker is out of memory");
    deny(tunnel);
}

/* "CONNECT host:port HTTP/1.1", with whatever headers. */
static void judge_head(struct tunnel *tunnel, const char *line)
{
    size_t length = strcspn(line + METHOD_LENGTH, " \r\n");
    const char *version = line + METHOD_LENGTH + length;
    tunnel->authority = strndup(line + METHOD_LENGTH, length);
    if (!tunnel->authority) {
        tunnel_free(tunnel);
        return;
    }
    if (strncmp(version, " HTTP/1.1\r\n", 11) != 0 && strncmp(version, " HTTP/1.0\r\n", 11) != 0) {
        denial_set(&tunnel->denial, 400, EGRESS_DENIED, "bad_request",
                   "the request line cannot be read");
        deny(tunnel);
        return;
    }
    tunnel->endpoint = find_endpoint(tunnel);
    if (tunnel->endpoint) {
        connect_upstream(tunnel);
        return;
    }
    CLEANUP_FREE char *shown = printable_text(tunnel->authority, 128);
    denial_set(&tunnel->denial, 403, EGRESS_DENIED, "policy_denied",
               "there is no tunnel to %s; tunnels are named by host and port, and the host by its "
               "name in the policy",
               shown ? shown : "that host");
    deny(tunnel);
}

/* Whether there are more bytes in the queue, or may come; the side's end is noted. */
static void receive(struct side *side, struct byte_queue *queue, size_t limit)
{
    unsigned char bytes[16384];
    while (!side->ended && queue->length < limit) {
        size_t room = limit - queue->length;
        ssize_t length =
            recv(side->fd, bytes, room < sizeof(bytes) ? room : sizeof(bytes), MSG_DONTWAIT);
        if (length < 0 && errno == EINTR)
            continue;
        if (length < 0 && errno == EAGAIN)
            return;
        if (length <= 0 || !byte_queue_add(queue, bytes, (size_t)length)) {
            side->ended = true;
            return;
        }
    }
}

/* false: the side is gone. */
static bool transmit(struct side *side)
{
    while (side->queue.length > 0) {
        ssize_t length = send(side->fd, byte_queue_first(&side->queue), side->queue.length,
                              MSG_NOSIGNAL | MSG_DONTWAIT);
        if (length < 0 && errno == EINTR)
            continue;
        if (length < 0)
            return errno == EAGAIN;
        byte_queue_skip(&side->queue, (size_t)length);
    }
    return true;
}

static void read_head(struct tunnel *tunnel)
{
    receive(&tunnel->program, &tunnel->head, HEAD_LIMIT);
    const char *bytes = (const char *)byte_queue_first(&tunnel->head);
    const char *end =
        tunnel->head.length ? memmem(bytes, tunnel->head.length, "\r\n\r\n", 4) : NULL;
    if (!end) {
        if (tunnel->program.ended || tunnel->head.length >= HEAD_LIMIT)
            tunnel_free(tunnel);
        return;
    }
    size_t length = (size_t)(end - bytes) + 4;
    CLEANUP_FREE char *line = strndup(bytes, length);
    byte_queue_skip(&tunnel->head, length); /* what is behind belongs to the tunnel */
    if (!line)
        tunnel_free(tunnel);
    else
        judge_head(tunnel, line);
}

static void read_hello(struct tunnel *tunnel)
{
    receive(&tunnel->program, &tunnel->head, CLIENT_HELLO_LIMIT);
    enum hello_outcome outcome =
        client_hello_judge(tunnel->head.length ? byte_queue_first(&tunnel->head) : NULL,
                           tunnel->head.length, tunnel->host ? tunnel->host : "");
    if (outcome == HELLO_INCOMPLETE && tunnel->program.ended)
        outcome = HELLO_NOT_TLS;
    if (outcome == HELLO_INCOMPLETE) {
        if (!set_interest(&tunnel->program, EPOLLIN))
            tunnel_free(tunnel);
        return;
    }
    if (outcome != HELLO_GOOD) {
        denial_set(&tunnel->denial, 403, EGRESS_DENIED, "policy_denied", "%s",
                   client_hello_refusal(outcome));
        tunnel_free(tunnel);
        return;
    }
    tunnel->stage = STAGE_OPEN;
    tunnel->sent = tunnel->head.length;
    tunnel->upstream.queue = tunnel->head;
    tunnel->head = (struct byte_queue){0};
    move_bytes(tunnel);
}

/* Bytes from one side to the queue of the other; how many came. */
static uint64_t carry(struct side *from, struct side *to)
{
    size_t before = to->queue.length;
    receive(from, &to->queue, QUEUE_LIMIT);
    return to->queue.length - before;
}

static bool end_if_drained(const struct side *from, struct side *to)
{
    if (from->ended && to->queue.length == 0 && !to->shut) {
        to->shut = true;
        (void)shutdown(to->fd, SHUT_WR);
    }
    return from->ended && to->shut;
}

static uint32_t interest_of(const struct side *side, const struct side *other)
{
    return (!side->ended && other->queue.length < QUEUE_LIMIT ? EPOLLIN : 0U) |
           (side->queue.length > 0 ? EPOLLOUT : 0U);
}

static bool is_over_budget(struct tunnel *tunnel)
{
    const struct egress_limits *limits = &tunnel->endpoint->order->limits;
    if (tunnel->sent <= limits->request_bytes && tunnel->received <= limits->response_bytes)
        return false;
    denial_set(&tunnel->denial, 429, EGRESS_BUDGET, "budget_exhausted",
               "the tunnel has carried more than %" PRIu64 " bytes out or %" PRIu64 " bytes in",
               limits->request_bytes, limits->response_bytes);
    return true;
}

static void carry_both(struct tunnel *tunnel)
{
    struct side *program = &tunnel->program, *upstream = &tunnel->upstream;
    tunnel->sent += carry(program, upstream);
    tunnel->received += carry(upstream, program);
    if (is_over_budget(tunnel) || !transmit(upstream) || !transmit(program)) {
        tunnel_free(tunnel);
        return;
    }
    bool out = end_if_drained(program, upstream);
    bool in = end_if_drained(upstream, program);
    if ((out && in) || !set_interest(program, interest_of(program, upstream)) ||
        !set_interest(upstream, interest_of(upstream, program)))
        tunnel_free(tunnel);
}

/* The method of the first request, which stays unread for the HTTP server. */
static void peek(struct tunnel *tunnel)
{
    static const int any = 1;
    char begin[METHOD_LENGTH];
    ssize_t length = recv(tunnel->program.fd, begin, sizeof(begin), MSG_PEEK | MSG_DONTWAIT);
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    struct tunnels *tunnels = tunnel->tunnels;
    (void)setsockopt(tunnel->program.fd, SOL_SOCKET, SO_RCVLOWAT, &any, sizeof(any));
    if (length == METHOD_LENGTH && memcmp(begin, METHOD, METHOD_LENGTH) == 0) {
        tunnel->stage = STAGE_HEAD;
        move_bytes(tunnel);
        return;
    }
    event_loop_unwatch(tunnels->loop, &tunnel->program.watch);
    int connection = TAKE_FD(tunnel->program.fd);
    tunnel_free(tunnel);
    tunnels->take_other(tunnels->user, connection);
}

/* The tunnel may be gone behind it. */
static void move_bytes(struct tunnel *tunnel)
{
    switch (tunnel->stage) {
    case STAGE_PEEK:
        peek(tunnel);
        break;
    case STAGE_HEAD:
        read_head(tunnel);
        break;
    case STAGE_CONNECT:
        break;
    case STAGE_HELLO:
        read_hello(tunnel);
        break;
    case STAGE_OPEN:
        carry_both(tunnel);
        break;
    }
}

static void on_ready(struct watch *watch, uint32_t events)
{
    (void)events;
    move_bytes(CONTAINER_OF(watch, struct side, watch)->tunnel);
}

void tunnel_begin(struct tunnels *tunnels, int connection)
{
    static const int whole_method = METHOD_LENGTH;
    CLEANUP_CLOSE int owned = connection;
    struct tunnel *tunnel = calloc(1, sizeof(*tunnel));
    if (!tunnel)
        return;
    *tunnel = (struct tunnel){
        .tunnels = tunnels,
        .next = tunnels->first,
        .began_ms = monotonic_ms(),
        .timer = {.fire = on_time},
        .program = {.tunnel = tunnel, .watch = {-1, on_ready}, .fd = TAKE_FD(owned)},
        .upstream = {.tunnel = tunnel, .watch = {-1, on_ready}, .fd = -1},
    };
    if (tunnels->first)
        tunnels->first->previous = tunnel;
    tunnels->first = tunnel;
    tunnels->count++;
    event_loop_after(tunnels->loop, &tunnel->timer, START_MS);
    if (setsockopt(tunnel->program.fd, SOL_SOCKET, SO_RCVLOWAT, &whole_method,
                   sizeof(whole_method)) < 0 ||
        !set_interest(&tunnel->program, EPOLLIN))
        tunnel_free(tunnel);
}

void tunnels_end(struct tunnels *tunnels)
{
    while (tunnels->first) {
        if (!tunnels->first->denial.code && tunnels->first->authority)
            denial_set(&tunnels->first->denial, 503, EGRESS_FAILED, "run_ended",
                       "the run ended before the tunnel did");
        tunnel_free(tunnels->first);
    }
}
