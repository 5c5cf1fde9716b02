/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the runs and what they say to the gateway: see run.h. Runs in the broker. */
#include "backends/egress/server/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "backends/egress/server/listener.h"
#include "backends/egress/server/server.h"
#include "backends/egress/tunnel/tunnel.h"
#include "backends/egress/upstream/endpoints.h"
#include "backends/egress/upstream/records.h"
#include "base/cleanup.h"
#include "protocol/channel.h"
#include "protocol/orders/egress_event.h"

#define LAST_EVENTS_MS 5000 /* for the gateway to read the records */

enum telling { TELLING_DONE, TELLING_WAITS, TELLING_FAILED };

struct run {
    struct runs *runs;
    struct run *next;
    struct run *previous;
    int events_fd;
    struct watch events;
    struct endpoints endpoints;
    struct listener listener;
    struct server *server;
    struct tunnels tunnels;
    struct records records;
    struct records between; /* of a session: since its last cell */
    bool is_session;
    bool in_cell;
    bool tells; /* the records of a cell that has ended are still to be sent */
    bool ended; /* only the last events are left */
    size_t records_sent;
    struct timer patience;
};

struct runs {
    struct event_loop *loop;
    struct pools *pools;
    struct run *first;
};

struct runs *runs_new(struct event_loop *loop, struct pools *pools)
{
    struct runs *runs = calloc(1, sizeof(*runs));
    if (runs)
        *runs = (struct runs){loop, pools, NULL};
    return runs;
}

/* 0, or -1 with errno. */
static int send_event(int socket, const struct egress_event *event)
{
    unsigned char message[EGRESS_EVENT_MESSAGE_LIMIT];
    size_t length = egress_event_encode(event, message);
    ssize_t sent;
    do
        sent = send(socket, message, length, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -1 : 0;
}

static void send_refusal(int socket, const char *text)
{
    char copy[EGRESS_TEXT_LIMIT];
    (void)snprintf(copy, sizeof(copy), "%s", text);
    (void)send_event(socket, &(struct egress_event){.type = EGRESS_EVENT_REFUSED, .text = copy});
}

/* Its connections are closed, and its credentials are gone. */
static void close_endpoints(struct run *run)
{
    tunnels_end(&run->tunnels);
    server_free(TAKE_POINTER(run->server));
    endpoints_clear(&run->endpoints);
}

static void run_free(struct run *run)
{
    struct runs *runs = run->runs;
    if (run->previous)
        run->previous->next = run->next;
    else
        runs->first = run->next;
    if (run->next)
        run->next->previous = run->previous;
    listener_end(&run->listener);
    close_endpoints(run);
    event_loop_cancel(runs->loop, &run->patience);
    event_loop_unwatch(runs->loop, &run->events);
    close_fd(run->events_fd);
    records_clear(&run->records);
    records_clear(&run->between);
    free(run);
}

static void on_patience(struct timer *timer)
{
    run_free(CONTAINER_OF(timer, struct run, patience));
}

/* The records, and behind them CLOSED, as far as there is room. */
static enum telling tell_records(struct run *run)
{
    bool is_sent = true;
    while (is_sent && run->records_sent < run->records.count) {
        const struct egress_event event = {.type = EGRESS_EVENT_RECORD,
                                           .record = run->records.first[run->records_sent]};
        is_sent = send_event(run->events_fd, &event) == 0;
        run->records_sent += is_sent;
    }
    const struct egress_event closed = {.type = EGRESS_EVENT_CLOSED, .totals = run->records.totals};
    if (is_sent && send_event(run->events_fd, &closed) == 0)
        return TELLING_DONE;
    return errno == EAGAIN || errno == ENOBUFS ? TELLING_WAITS : TELLING_FAILED;
}

/* The run is gone when all is sent or the gateway is. */
static void send_last_events(struct run *run)
{
    if (tell_records(run) != TELLING_WAITS)
        run_free(run);
}

static void end_run(struct run *run)
{
    run->ended = true;
    listener_end(&run->listener);
    close_endpoints(run);
    event_loop_after(run->runs->loop, &run->patience, LAST_EVENTS_MS);
    if (event_loop_change(run->runs->loop, &run->events, EPOLLOUT) < 0)
        run_free(run);
    else
        send_last_events(run);
}

static bool has_room(const struct run *run)
{
    return server_connection_count(run->server) + run->tunnels.count < SERVER_CONNECTIONS;
}

static bool take_connection(void *user, int connection)
{
    struct run *run = user;
    if (run->endpoints.has_tunnel)
        tunnel_begin(&run->tunnels, connection);
    else
        (void)server_adopt(run->server, connection);
    return has_room(run);
}

/* One that is no tunnel. */
static void take_other(void *user, int connection)
{
    struct run *run = user;
    (void)server_adopt(run->server, connection);
}

/* The order is in a memfd that nobody can change any more. */
static bool read_order(int fd, struct egress_order *ret)
{
    struct stat facts;
    if (fstat(fd, &facts) < 0 || !S_ISREG(facts.st_mode) || facts.st_size <= 0 ||
        facts.st_size > (off_t)EGRESS_ORDER_LIMIT)
        return false;
    size_t length = (size_t)facts.st_size;
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || !(seals & F_SEAL_SHRINK) || !(seals & F_SEAL_WRITE))
        return false;
    void *bytes = mmap(NULL, length, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return false;
    bool read = egress_order_decode(bytes, length, ret);
    (void)munmap(bytes, length);
    return read;
}

/* Takes the order over. NULL, or why what it allows cannot be had. */
static const char *open_endpoints(struct run *run, struct egress_order *order,
                                  struct records *records)
{
    if (!endpoints_begin(&run->endpoints, order, run->runs->pools))
        return "the broker of endpoints is out of memory";
    /* A client that has kept a connection of a cell would find it closed in the next one. */
    run->server = server_new(run->runs->loop, &run->endpoints, records, run->is_session);
    return run->server ? NULL : "the broker of endpoints cannot make a server";
}

/* Whatever is asked for is refused, until the next cell. */
static const char *open_between(struct run *run)
{
    struct egress_order nothing = {.session = 1};
    return open_endpoints(run, &nothing, &run->between);
}

/* What was connected before is not the cell's. */
static const char *open_cell(struct run *run, int order_fd)
{
    CLEANUP(egress_order_clear) struct egress_order order = {.endpoint_count = 0};
    if (!read_order(order_fd, &order) || order.session)
        return "the order of endpoints cannot be read";
    close_endpoints(run);
    listener_drop(&run->listener);
    records_clear(&run->records);
    run->records.totals = (struct egress_totals){.between = run->between.totals.requests};
    records_clear(&run->between);
    run->between.totals = (struct egress_totals){.requests = 0};
    return open_endpoints(run, &order, &run->records);
}

static void begin_cell(struct run *run, int order_fd)
{
    const char *refusal = open_cell(run, order_fd);
    run->in_cell = !refusal;
    if (refusal)
        send_refusal(run->events_fd, refusal);
    if (refusal ||
        send_event(run->events_fd, &(struct egress_event){.type = EGRESS_EVENT_READY}) < 0)
        end_run(run);
}

/* false: the run has ended, and may be gone. */
static bool go_on_telling(struct run *run)
{
    enum telling telling = tell_records(run);
    run->tells = telling == TELLING_WAITS;
    uint32_t wanted = run->tells ? EPOLLIN | EPOLLOUT : EPOLLIN;
    if (telling != TELLING_FAILED && event_loop_change(run->runs->loop, &run->events, wanted) == 0)
        return true;
    end_run(run);
    return false;
}

/* The gateway waits for the records, and for nothing behind them. */
static void end_cell(struct run *run)
{
    run->in_cell = false;
    run->records_sent = 0;
    close_endpoints(run);
    listener_drop(&run->listener);
    if (go_on_telling(run) && open_between(run))
        end_run(run);
}

static void take_word(struct run *run, char word, int fd)
{
    if (word == EGRESS_WORD_CELL && fd >= 0 && !run->in_cell && !run->tells)
        begin_cell(run, fd);
    else if (word == EGRESS_WORD_CELL_ENDED && fd < 0 && run->in_cell)
        end_cell(run);
    else
        end_run(run);
}

/* Of a run the gateway says nothing but that it has ended. */
static void take_message(struct run *run)
{
    char word = 0;
    int fd = -1;
    size_t count = 0;
    ssize_t length = channel_receive_fds_now(run->events_fd, &word, sizeof(word), &fd, 1, &count);
    CLEANUP_CLOSE int owned = length >= 0 && count == 1 ? fd : -1;
    if (length == 1 && run->is_session)
        take_word(run, word, owned);
    else if (length == 0 || (length < 0 && errno != EAGAIN && errno != EINTR))
        end_run(run);
}

static void on_events(struct watch *watch, uint32_t events)
{
    struct run *run = CONTAINER_OF(watch, struct run, events);
    if (run->ended && (events & (EPOLLERR | EPOLLHUP)))
        run_free(run);
    else if (run->ended)
        send_last_events(run);
    else if (run->tells && (events & EPOLLOUT))
        (void)go_on_telling(run);
    else
        take_message(run);
}

/* NULL, or why the run cannot have its endpoints. */
static const char *begin_run(struct run *run, int order_fd, int *intake)
{
    CLEANUP(egress_order_clear) struct egress_order order = {.endpoint_count = 0};
    if (!read_order(order_fd, &order))
        return "the order of endpoints cannot be read";
    run->is_session = order.session;
    const char *refusal =
        run->is_session ? open_between(run) : open_endpoints(run, &order, &run->records);
    if (refusal)
        return refusal;
    if (!listener_begin(&run->listener, TAKE_FD(*intake)) ||
        event_loop_watch(run->runs->loop, &run->events, EPOLLIN) < 0)
        return "the broker of endpoints cannot watch the run's sockets";
    return NULL;
}

void runs_begin(struct runs *runs, const int fds[EGRESS_FD_COUNT])
{
    CLEANUP_CLOSE int order = fds[EGRESS_FD_ORDER];
    CLEANUP_CLOSE int intake = fds[EGRESS_FD_INTAKE];
    struct run *run = calloc(1, sizeof(*run));
    if (!run) {
        close_fd(fds[EGRESS_FD_EVENTS]); /* the gateway sees its end */
        return;
    }
    *run = (struct run){
        .runs = runs,
        .next = runs->first,
        .events_fd = fds[EGRESS_FD_EVENTS],
        .events = {fds[EGRESS_FD_EVENTS], on_events},
        .listener = {.loop = runs->loop,
                     .intake = {.fd = -1},
                     .socket = {.fd = -1},
                     .intake_fd = -1,
                     .socket_fd = -1,
                     .take = take_connection,
                     .user = run},
        .tunnels = {.loop = runs->loop,
                    .endpoints = &run->endpoints,
                    .records = &run->records,
                    .take_other = take_other,
                    .user = run},
        .patience = {.fire = on_patience},
    };
    if (runs->first)
        runs->first->previous = run;
    runs->first = run;
    const char *refusal = begin_run(run, order, &intake);
    if (refusal)
        send_refusal(run->events_fd, refusal);
    if (refusal ||
        send_event(run->events_fd, &(struct egress_event){.type = EGRESS_EVENT_READY}) < 0)
        run_free(run);
}

bool runs_settle(struct runs *runs)
{
    bool done = false;
    for (struct run *run = runs->first; run; run = run->next) {
        if (!run->server)
            continue;
        done |= server_settle(run->server);
        if (run->listener.full && has_room(run))
            listener_go_on(&run->listener);
    }
    return done;
}

void runs_free(struct runs *runs)
{
    while (runs && runs->first)
        run_free(runs->first);
    free(runs);
}
