/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the data from the other side until its local descriptor has taken it. At the worker each
 * channel is by itself. At the gateway the channels of one run share a lane, because all output is
 * to be in its pipe before the event behind it is. Bounded by the windows. Runs in
 * code-execute-remote and code-execute-worker.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backends/remote/relay/intake.h"
#include "backends/remote/relay/relay.h"
#include "base/cleanup.h"

enum delivery { DELIVERED, WAITS, FAILED };

static struct block *block_new(struct channel *channel, enum remote_kind kind,
                               const unsigned char *bytes, size_t length)
{
    struct block *block = malloc(sizeof(*block) + length);
    if (!block)
        return NULL;
    *block = (struct block){.channel = channel, .kind = kind, .length = length};
    for (size_t i = 0; i < REMOTE_ATTACHMENTS_LIMIT; i++)
        block->fds[i] = -1;
    if (length > 0)
        memcpy(block->bytes, bytes, length);
    return block;
}

/* Contents that are still on their way have no receiver then. */
static void leave_contents(struct block *block)
{
    struct channel *next;
    for (struct channel *i = block->channel->run->channels; i && block->missing > 0; i = next) {
        next = i->next_in_run;
        if (i->content.block != block)
            continue;
        i->content.block = NULL;
        block->missing--;
        channel_reset(i);
    }
}

static void block_free(struct block *block)
{
    leave_contents(block);
    for (size_t i = 0; i < block->fd_count; i++)
        close_fd(block->fds[i]);
    explicit_bzero(block->bytes, block->length);
    free(block);
}

static void append(struct lane *lane, struct block *block)
{
    if (lane->last)
        lane->last->next = block;
    else
        lane->first = block;
    lane->last = block;
}

static struct block *take_first(struct lane *lane)
{
    struct block *block = lane->first;
    lane->first = block->next;
    if (!lane->first)
        lane->last = NULL;
    block->next = NULL;
    return block;
}

static void put_first(struct lane *lane, struct block *block)
{
    block->next = lane->first;
    lane->first = block;
    if (!lane->last)
        lane->last = block;
}

void lane_forget(struct lane *lane, struct channel *channel)
{
    struct lane kept = {.first = NULL};
    struct lane gone = {.first = NULL};
    while (lane->first) {
        struct block *block = take_first(lane);
        append(block->channel == channel ? &gone : &kept, block);
    }
    *lane = kept;
    while (gone.first) {
        struct block *block = take_first(&gone);
        channel->end_received |= block->kind == REMOTE_END || block->kind == REMOTE_RESET;
        block_free(block);
    }
}

static enum delivery feed_intake(struct channel *channel, const unsigned char *bytes, size_t length,
                                 size_t *begin)
{
    enum intake_verdict verdict = intake_take(channel, bytes + *begin, length - *begin);
    if (verdict != INTAKE_TAKEN)
        return verdict == INTAKE_WAITS ? WAITS : FAILED;
    *begin = length;
    return DELIVERED;
}

/* Some of the bytes, from *begin on. */
static enum delivery write_bytes(struct channel *channel, const unsigned char *bytes, size_t length,
                                 size_t *begin)
{
    if (channel->intake)
        return feed_intake(channel, bytes, length, begin);
    while (*begin < length) {
        ssize_t count = channel->form == REMOTE_OUTPUT
                            ? write(channel->fd, bytes + *begin, length - *begin)
                            : send(channel->fd, bytes + *begin, length - *begin, MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return errno == EAGAIN ? WAITS : FAILED;
        *begin += (size_t)count;
    }
    return DELIVERED;
}

static enum delivery hand_over(int fd, const void *bytes, size_t length, const int *fds,
                               size_t count)
{
    if (channel_send(fd, bytes, length, fds, count) == 0)
        return DELIVERED;
    return errno == EAGAIN ? WAITS : FAILED;
}

/* At the worker, the first datagram of a run: the run itself. */
static enum delivery begin_run(struct channel *channel, struct block *block)
{
    struct link *link = channel->run->link;
    int fds[RUN_FD_COUNT];
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return FAILED;
    if (!channel_watch(channel, pair[0])) {
        close_fd(pair[1]);
        return FAILED;
    }
    fds[RUN_FD_EVENTS] = pair[1];
    for (size_t i = 0; i < RUN_ATTACHMENTS; i++)
        fds[RUN_FD_DESCRIPTION + i] = TAKE_FD(block->fds[i]);
    link->handler->arrived(link->user, link, channel->number, fds);
    return DELIVERED;
}

static enum delivery deliver_datagram(struct channel *channel, struct block *block)
{
    if (block->failed)
        return FAILED;
    if (block->missing > 0)
        return WAITS;
    if (channel->fd < 0)
        return begin_run(channel, block);
    return hand_over(channel->fd, block->bytes, block->length, block->fds, block->fd_count);
}

/* There is nothing behind it. */
static void deliver_end(struct channel *channel)
{
    channel_close(channel);
    channel_end(channel, REMOTE_END);
    channel_take_end(channel);
}

static enum delivery deliver(struct block *block)
{
    struct channel *channel = block->channel;
    if (block->kind == REMOTE_DATA)
        return write_bytes(channel, block->bytes, block->length, &block->begin);
    if (block->kind == REMOTE_DATAGRAM)
        return deliver_datagram(channel, block);
    deliver_end(channel);
    return DELIVERED;
}

void lane_go_on(struct lane *lane)
{
    while (lane->first) {
        struct block *block = take_first(lane);
        struct channel *channel = block->channel;
        enum delivery delivery = deliver(block);
        if (delivery == WAITS) {
            put_first(lane, block);
            return;
        }
        if (delivery == FAILED)
            channel_reset(channel);
        else if (block->cost > 0)
            channel_took(channel, block->cost);
        block_free(block);
    }
}

static bool out_of_memory(const struct channel *channel)
{
    return connection_break(channel->run->link->connection, "no memory for what has come");
}

bool lane_take_data(struct channel *channel, unsigned char *bytes, size_t length)
{
    size_t begin = 0;
    enum delivery delivery = WAITS;
    if (channel->fd < 0)
        return true; /* of what this side has reset */
    if (!channel->lane->first)
        delivery = write_bytes(channel, bytes, length, &begin);
    if (delivery == FAILED)
        channel_reset(channel);
    else if (begin > 0)
        channel_took(channel, (uint32_t)begin);
    if (delivery != WAITS)
        return true;
    struct block *block = block_new(channel, REMOTE_DATA, bytes + begin, length - begin);
    if (!block)
        return out_of_memory(channel);
    block->cost = (uint32_t)block->length;
    append(channel->lane, block);
    return true;
}

/* That of a run is the one with attachments of all its descriptors. */
static bool has_form(const struct channel *channel, const struct remote_datagram *datagram)
{
    const struct run *run = channel->run;
    if (!run->link->is_server)
        return datagram->attachment_count == 0 && (run->state == RUN_SENT || channel->end_sent);
    if (run->channel != channel || run->state == RUN_SENT || channel->end_sent)
        return true;
    return run->state == RUN_ACCEPTED && datagram->length == 1 &&
           datagram->bytes[0] == CONTROL_RUN && datagram->attachment_count == RUN_ATTACHMENTS &&
           datagram->attachments[0].form == REMOTE_CONTENT;
}

bool lane_take_datagram(struct channel *channel, const unsigned char *payload, size_t length)
{
    struct run *run = channel->run;
    struct remote_datagram datagram;
    if (!remote_datagram_read(payload, length, &datagram) || !has_form(channel, &datagram))
        return connection_break(run->link->connection, "a datagram that is none");
    uint32_t cost = datagram_cost(length, datagram.attachment_count);
    if (!channel_take_room(channel, cost))
        return false;
    struct block *block = block_new(channel, REMOTE_DATAGRAM, datagram.bytes, datagram.length);
    if (!block)
        return out_of_memory(channel);
    block->cost = cost;
    block->fd_count = datagram.attachment_count;
    if (!attachments_make(channel, &datagram, block)) {
        block_free(block);
        return false;
    }
    if (channel->end_sent) { /* what this side has reset */
        block_free(block);
        return true;
    }
    if (run->channel == channel)
        run->state = RUN_SENT;
    append(channel->lane, block);
    lane_go_on(channel->lane);
    return true;
}

void lane_take_end(struct channel *channel, enum remote_kind kind)
{
    struct block *block = channel->lane->first ? block_new(channel, kind, NULL, 0) : NULL;
    if (block)
        append(channel->lane, block);
    else if (channel->lane->first)
        (void)out_of_memory(channel);
    else
        deliver_end(channel);
}
