/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the data to the other side: bytes of pipes, sockets and files, and datagrams with their
 * descriptors. It is read in place, so that only data that is held up is copied.
 *
 * In the local protocol all that a program has written is in its pipes before its results say that
 * a cell has ended, or its events say that the run has. So at the worker, what results or events
 * have is read first, and then looked how much the pipes have that must go ahead of it: at that
 * time they have all of it. Until so much has been sent, what was read is held. Runs in
 * code-execute-remote and code-execute-worker.
 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "backends/remote/relay/intake.h"
#include "backends/remote/relay/relay.h"
#include "base/cleanup.h"

static struct connection *connection_of(const struct channel *channel)
{
    return channel->run->link->connection;
}

static void count_sent(struct channel *channel, size_t length)
{
    channel->allowance -= (uint32_t)length;
    channel->total += length;
}

/* Those that wait for its bytes look again. */
static void wake_followers(const struct channel *channel)
{
    struct run *run = channel->run;
    for (struct channel *i = run->held_count > 0 ? run->channels : NULL; i; i = i->next_in_run)
        if (i->held.bytes)
            channel_make_due(i);
}

/* Nothing more comes out of the descriptor. */
static void finish(struct channel *channel)
{
    lane_forget(channel->lane, channel);
    channel_close(channel);
    wake_followers(channel);
    channel_end(channel, REMOTE_END);
}

static bool goes_ahead(const struct channel *other, const struct channel *channel,
                       enum follower follower)
{
    if (other == channel || other->form != REMOTE_OUTPUT || other->place == RUN_FD_FILES)
        return false;
    return follower == FOLLOWER_EVENTS || other->datagram == channel->datagram;
}

static bool find_follower(const struct channel *channel, enum follower *ret)
{
    const struct run *run = channel->run;
    if (!run->link->is_server)
        return false;
    *ret = channel == run->channel ? FOLLOWER_EVENTS : FOLLOWER_RESULTS;
    return channel == run->channel || channel->place == RUN_FD_RESULTS;
}

/* The data read just now comes after all that these pipes have. */
static void set_marks(struct channel *channel, enum follower follower)
{
    for (struct channel *i = channel->run->channels; i; i = i->next_in_run) {
        int there = 0;
        if (!goes_ahead(i, channel, follower))
            continue;
        if (i->fd < 0 || ioctl(i->fd, FIONREAD, &there) != 0)
            there = 0;
        i->marks[follower] = i->total + i->held.length + (uint64_t)there;
        if (there > 0)
            channel_make_due(i);
    }
}

static bool has_passed(const struct channel *channel, enum follower follower)
{
    for (const struct channel *i = channel->run->channels; i; i = i->next_in_run)
        if (goes_ahead(i, channel, follower) && !i->end_sent && i->total < i->marks[follower])
            return false;
    return true;
}

static void send_now(struct channel *channel, const unsigned char *bytes, size_t length)
{
    enum remote_kind kind = channel->form == REMOTE_DATAGRAMS ? REMOTE_DATAGRAM : REMOTE_DATA;
    connection_put(connection_of(channel), kind, channel->number, bytes, length);
    count_sent(channel, length);
    wake_followers(channel);
}

static bool hold(struct channel *channel, const unsigned char *bytes, size_t length)
{
    channel->held.bytes = malloc(length);
    if (!channel->held.bytes)
        return false;
    memcpy(channel->held.bytes, bytes, length);
    channel->held.length = length;
    channel->run->held_count++;
    return true;
}

/* Bytes in the room of the next frame, which is not committed yet. */
static void send_behind_others(struct channel *channel, enum follower follower,
                               enum remote_kind kind, const unsigned char *room, size_t length)
{
    set_marks(channel, follower);
    if (!has_passed(channel, follower)) {
        if (!hold(channel, room, length))
            channel_reset(channel);
        return;
    }
    connection_commit(connection_of(channel), kind, channel->number, length);
    count_sent(channel, length);
    channel_make_due(channel);
}

/* Behind its next bytes; false: they still wait. */
static bool let_go(struct channel *channel)
{
    enum follower follower;
    if (!find_follower(channel, &follower) || !has_passed(channel, follower))
        return false;
    struct held held = channel->held;
    channel->held = (struct held){.bytes = NULL};
    channel->run->held_count--;
    send_now(channel, held.bytes, held.length);
    explicit_bzero(held.bytes, held.length);
    free(held.bytes);
    return true;
}

static void read_stream(struct channel *channel)
{
    enum follower follower;
    size_t most = CONNECTION_PIECE < channel->allowance ? CONNECTION_PIECE : channel->allowance;
    unsigned char *room = most > 0 ? connection_room(connection_of(channel), most) : NULL;
    if (!room)
        return;
    ssize_t count = read(channel->fd, room, most);
    if (count < 0) {
        if (errno == EINTR)
            channel_make_due(channel);
        else if (errno != EAGAIN)
            finish(channel);
        return;
    }
    if (count == 0) {
        finish(channel);
        return;
    }
    if (find_follower(channel, &follower)) {
        send_behind_others(channel, follower, REMOTE_DATA, room, (size_t)count);
        return;
    }
    connection_commit(connection_of(channel), REMOTE_DATA, channel->number, (size_t)count);
    count_sent(channel, (size_t)count);
    wake_followers(channel);
    channel_make_due(channel);
}

/* A file that has become shorter ends early. */
static void read_content(struct channel *channel)
{
    struct content *content = &channel->content;
    uint64_t left = content->size - content->done;
    size_t most = CONNECTION_PIECE < channel->allowance ? CONNECTION_PIECE : channel->allowance;
    most = left < most ? (size_t)left : most;
    if (left == 0) {
        finish(channel);
        return;
    }
    unsigned char *room = most > 0 ? connection_room(connection_of(channel), most) : NULL;
    if (!room)
        return;
    ssize_t count = pread(channel->fd, room, most, (off_t)content->done);
    if (count <= 0) {
        finish(channel);
        return;
    }
    connection_commit(connection_of(channel), REMOTE_DATA, channel->number, (size_t)count);
    count_sent(channel, (size_t)count);
    content->done += (uint64_t)count;
    if (content->done == content->size)
        finish(channel);
    else
        channel_make_due(channel);
}

/* Nothing can come of what this socket says. */
static void fail_datagrams(struct channel *channel)
{
    if (channel->number == channel->run->number)
        channel_reset(channel);
    else
        finish(channel);
}

/* At the gateway: the plugin has closed a run's events, so the run is not wanted any more. */
static void end_datagrams(struct channel *channel)
{
    if (channel == channel->run->channel && !channel->run->link->is_server)
        channel_reset(channel);
    else
        finish(channel);
}

static void send_datagram(struct channel *channel, size_t length, int *fds, size_t count)
{
    struct link *link = channel->run->link;
    struct remote_datagram datagram;
    enum follower follower;
    if (!attachments_give(channel->run, fds, count, &datagram)) {
        fail_datagrams(channel);
        return;
    }
    size_t head = REMOTE_DATAGRAM_HEAD(count);
    unsigned char *room = connection_room(link->connection, head + length);
    if (!room)
        return;
    remote_datagram_put_head(room, &datagram);
    memcpy(room + head, link->datagram, length);
    if (find_follower(channel, &follower)) {
        send_behind_others(channel, follower, REMOTE_DATAGRAM, room, head + length);
        return;
    }
    connection_commit(link->connection, REMOTE_DATAGRAM, channel->number, head + length);
    count_sent(channel, datagram_cost(head + length, count));
    channel_make_due(channel);
}

static void tell_owner(const struct channel *channel, size_t length)
{
    struct link *link = channel->run->link;
    if (link->is_server && channel == channel->run->channel && link->handler->told)
        link->handler->told(link->user, link, channel->number, link->datagram, length);
}

static void read_datagram(struct channel *channel)
{
    struct link *link = channel->run->link;
    int fds[REMOTE_ATTACHMENTS_LIMIT];
    size_t count = 0;
    if (channel->allowance < DATAGRAM_COST_LIMIT)
        return;
    /* Out of a worker comes no descriptor. */
    ssize_t length =
        channel_receive_fds_now(channel->fd, link->datagram, sizeof(link->datagram), fds,
                                link->is_server ? 0 : REMOTE_ATTACHMENTS_LIMIT - 1, &count);
    if (length > 0) {
        tell_owner(channel, (size_t)length);
        send_datagram(channel, (size_t)length, fds, count);
    } else if (length == 0) {
        end_datagrams(channel);
    } else if (errno != EAGAIN) {
        fail_datagrams(channel);
    }
    if (length > 0)
        explicit_bzero(link->datagram, (size_t)length);
}

static void step_intake(struct channel *channel)
{
    if (!intake_step(channel))
        finish(channel);
}

void source_step(struct channel *channel)
{
    if (channel->fd < 0 || channel->end_sent)
        return;
    if (channel->held.bytes && !let_go(channel))
        return;
    if (channel->intake)
        step_intake(channel);
    else if (channel->form == REMOTE_CONTENT)
        read_content(channel);
    else if (channel->form == REMOTE_DATAGRAMS)
        read_datagram(channel);
    else
        read_stream(channel);
}
