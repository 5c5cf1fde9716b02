/* SPDX-License-Identifier: Apache-2.0 */
/* Owns a link: its turns, and the handling of each frame. See link/link.h. Runs in
 * code-execute-remote and code-execute-worker. */
#include "backends/remote/link/link.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "backends/remote/relay/relay.h"
#include "backends/remote/relay/run_orders.h"
#include "base/cleanup.h"
#include "protocol/wire.h"

#define BATCH          64
#define ROUNDS_A_TURN  16 /* of reading and sending; others of the process have their turn, too */
#define CAPACITY_US    UINT64_C(100000)
#define CONNECTION_KEY UINT64_C(0) /* in epoll: no channel has that number */

static void ready(void *user, const struct remote_hello *peer)
{
    struct link *link = user;
    if (link->handler->ready)
        link->handler->ready(link->user, link, peer);
}

static bool take_taken(struct channel *channel, const unsigned char *payload)
{
    struct wire_reader reader = {.bytes = payload, .length = sizeof(uint32_t)};
    uint32_t count = wire_get_u32(&reader);
    if (!channel->reads || count > REMOTE_WINDOW - channel->allowance)
        return connection_break(channel->run->link->connection, "more taken than was sent");
    channel->allowance += count;
    channel_make_due(channel);
    return true;
}

static bool take_payload(struct channel *channel, const struct remote_header *header,
                         unsigned char *payload)
{
    struct connection *connection = channel->run->link->connection;
    bool is_datagram = header->kind == REMOTE_DATAGRAM;
    if (!channel->writes || is_datagram != (channel->form == REMOTE_DATAGRAMS))
        return connection_break(connection, "bytes that the channel does not take");
    if (is_datagram)
        return lane_take_datagram(channel, payload, header->length);
    if (!channel_take_room(channel, header->length))
        return false;
    if (channel->form == REMOTE_CONTENT)
        return content_take(channel, payload, header->length);
    return lane_take_data(channel, payload, header->length);
}

static void take_end(struct channel *channel, enum remote_kind kind)
{
    const struct run *run = channel->run;
    channel->end_seen = true;
    bool is_run = channel == run->channel;
    bool is_last_word = is_run && (run->link->is_server || run->state != RUN_SENT);
    if (channel->end_sent || !channel->writes || is_last_word) {
        channel_reset(channel); /* answers, where nothing was said yet */
        channel_take_end(channel);
    } else if (channel->form == REMOTE_CONTENT) {
        content_end(channel);
    } else {
        lane_take_end(channel, kind);
    }
}

static bool take_channel_frame(struct link *link, const struct remote_header *header,
                               unsigned char *payload)
{
    struct channel *channel = channel_find(link, header->channel);
    if (!channel || channel->end_seen)
        return connection_break(link->connection, "a frame for a channel that is not there");
    switch ((int)header->kind) {
    case REMOTE_TAKEN:
        return take_taken(channel, payload);
    case REMOTE_END:
    case REMOTE_RESET:
        take_end(channel, header->kind);
        return !connection_is_over(link->connection);
    default:
        return take_payload(channel, header, payload);
    }
}

static bool take_capacity(struct link *link, const struct remote_header *header,
                          const unsigned char *payload)
{
    struct remote_capacity capacity;
    if (link->is_server || !remote_capacity_decode(payload, header->length, &capacity))
        return connection_break(link->connection, "a capacity that is none");
    if (link->handler->capacity)
        link->handler->capacity(link->user, link, &capacity);
    return true;
}

static bool take_drain(struct link *link)
{
    if (link->is_server)
        return connection_break(link->connection, "a gateway that drains");
    link->is_draining = true;
    if (link->handler->draining)
        link->handler->draining(link->user, link);
    return true;
}

static bool frame(void *user, const struct remote_header *header, unsigned char *payload)
{
    struct link *link = user;
    switch ((int)header->kind) {
    case REMOTE_OFFER:
        return run_take_offer(link, header->channel, payload, header->length);
    case REMOTE_ANSWER:
        return run_take_answer(link, header->channel, payload, header->length);
    case REMOTE_CAPACITY:
        return take_capacity(link, header, payload);
    case REMOTE_DRAIN:
        return take_drain(link);
    default:
        return take_channel_frame(link, header, payload);
    }
}

static const struct connection_handler connection_handler = {.ready = ready, .frame = frame};

struct link *link_new(int fd, struct tls_context *context, bool is_server,
                      const struct link_peer *peer, const struct remote_hello *self,
                      const struct link_handler *handler, void *user)
{
    struct link *link = calloc(1, sizeof(*link));
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                                .data.u64 = CONNECTION_KEY};
    if (!link) {
        close_fd(fd);
        return NULL;
    }
    link->is_server = is_server;
    link->handler = handler;
    link->user = user;
    link->epoll = epoll_create1(EPOLL_CLOEXEC);
    link->connection =
        connection_new(fd, context, is_server, peer, self, &connection_handler, link);
    if (link->epoll >= 0 && link->connection &&
        epoll_ctl(link->epoll, EPOLL_CTL_ADD, connection_fd(link->connection), &event) == 0)
        return link;
    link_free(link);
    return NULL;
}

void link_free(struct link *link)
{
    if (!link)
        return;
    for (struct run *run = link->runs; run; run = run->next)
        run->is_told = false;
    for (struct run *run = link->over; run; run = run->next)
        run->is_told = false;
    while (link->runs) {
        struct channel *channel = link->runs->channels;
        channel->end_sent = true;
        channel_take_end(channel);
    }
    channel_bury(link);
    run_tell_over(link);
    connection_free(link->connection);
    close_fd(link->epoll);
    explicit_bzero(link->datagram, sizeof(link->datagram));
    free(link);
}

int link_fd(const struct link *link)
{
    return link->epoll;
}

static bool is_ready(const struct link *link)
{
    return connection_is_ready(link->connection);
}

uint64_t link_deadline_us(const struct link *link)
{
    if (link->over || (link->due_first && connection_wants_more(link->connection)))
        return 0;
    uint64_t deadline_us = connection_deadline_us(link->connection);
    bool is_first = link->capacity_due && is_ready(link) && link->capacity_us < deadline_us;
    return is_first ? link->capacity_us : deadline_us;
}

/* Each that is due once; those that are due again come behind them. */
static void read_sources(struct link *link)
{
    struct channel *last = link->due_last;
    bool is_last = false;
    while (link->due_first && !is_last && connection_wants_more(link->connection)) {
        struct channel *channel = link->due_first;
        is_last = channel == last;
        channel_forget_due(channel);
        source_step(channel);
    }
}

static void send_capacity(struct link *link, uint64_t now_us)
{
    unsigned char payload[REMOTE_MESSAGE_LIMIT];
    if (!link->capacity_due || now_us < link->capacity_us || !is_ready(link))
        return;
    link->capacity_due = false;
    link->capacity_us = now_us + CAPACITY_US;
    connection_put(link->connection, REMOTE_CAPACITY, 0, payload,
                   remote_capacity_encode(&link->capacity, payload));
}

/* All frames of a turn are sent together. */
static void send_all(struct link *link)
{
    for (int i = 0; i < ROUNDS_A_TURN; i++) {
        while (link->due_first && connection_wants_more(link->connection))
            read_sources(link);
        if (!connection_flush(link->connection) || !link->due_first ||
            !connection_wants_more(link->connection))
            return;
    }
}

/* Behind a call of the owner's, which is not in a turn. */
static void send_soon(struct link *link)
{
    if (link->is_handling)
        return;
    send_all(link);
    channel_bury(link);
}

static void take_event(struct link *link, const struct epoll_event *event)
{
    const uint32_t broken = EPOLLERR | EPOLLHUP;
    if (event->data.u64 == CONNECTION_KEY) {
        link->socket_ready = true;
        return;
    }
    struct channel *channel = channel_find(link, (uint32_t)event->data.u64);
    if (!channel || channel->fd < 0)
        return;
    if (channel->reads && (event->events & ~(uint32_t)EPOLLOUT) != 0)
        channel_make_due(channel);
    if (!channel->writes)
        return;
    if (!channel->reads && (event->events & broken) != 0)
        channel_reset(channel); /* its receiver is gone */
    struct lane *lane = channel->lane;
    lane_go_on(lane);
}

static void take_events(struct link *link)
{
    struct epoll_event events[BATCH];
    int count = BATCH;
    for (int i = 0; i < ROUNDS_A_TURN && count == BATCH; i++) {
        count = epoll_wait(link->epoll, events, BATCH, 0);
        for (int j = 0; j < count; j++)
            take_event(link, &events[j]);
    }
}

bool link_handle(struct link *link, uint64_t now_us)
{
    link->is_handling = true;
    take_events(link);
    bool is_ready = link->socket_ready;
    link->socket_ready = false;
    bool goes_on = connection_receive(link->connection, is_ready, now_us);
    link->is_handling = false;
    run_withdraw_due(link);
    link->is_handling = true;
    if (goes_on) {
        send_capacity(link, now_us);
        send_all(link);
        channel_bury(link);
        run_tell_over(link);
        send_all(link); /* the owner's answer */
    }
    link->is_handling = false;
    channel_bury(link);
    return !connection_is_over(link->connection);
}

const struct error *link_error(const struct link *link)
{
    return connection_error(link->connection);
}

const char *link_peer_name(const struct link *link)
{
    return connection_peer_name(link->connection);
}

uint32_t link_offer(struct link *link, const struct remote_offer *offer)
{
    uint32_t number = is_ready(link) ? run_offer(link, offer) : 0;
    send_soon(link);
    return number;
}

void link_answer(struct link *link, uint32_t channel, const struct remote_answer *answer)
{
    run_answer(link, channel, answer);
    send_soon(link);
}

bool link_send_run(struct link *link, uint32_t channel, int fds[RUN_FD_COUNT])
{
    bool is_sent = run_send(link, channel, fds);
    send_soon(link);
    return is_sent;
}

bool link_run_begun(const struct link *link, uint32_t channel)
{
    return run_begun(link, channel);
}

void link_withdraw(struct link *link, uint32_t channel)
{
    run_withdraw(link, channel);
    send_soon(link);
}

void link_send_capacity(struct link *link, const struct remote_capacity *capacity)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    link->capacity = *capacity;
    link->capacity_due = true;
    send_capacity(link, (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000);
    send_soon(link);
}

void link_send_drain(struct link *link)
{
    if (is_ready(link))
        connection_put(link->connection, REMOTE_DRAIN, 0, NULL, 0);
    send_soon(link);
}

void link_close(struct link *link, const char *reason)
{
    (void)connection_break(link->connection, "%s", reason);
}
