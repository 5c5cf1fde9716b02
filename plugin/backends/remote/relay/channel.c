/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the table of a link's channels, and how each begins and ends: see relay.h. Runs in
 * code-execute-remote and code-execute-worker. */
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "backends/remote/relay/intake.h"
#include "backends/remote/relay/relay.h"
#include "base/cleanup.h"
#include "protocol/wire.h"

static struct channel **bucket_of(struct link *link, uint32_t number)
{
    return &link->buckets[number % LINK_BUCKETS];
}

struct channel *channel_find(const struct link *link, uint32_t number)
{
    struct channel *channel = link->buckets[number % LINK_BUCKETS];
    while (channel && channel->number != number)
        channel = channel->next_in_bucket;
    return channel;
}

static void set_directions(struct channel *channel)
{
    bool is_server = channel->run->link->is_server;
    bool is_both = channel->number == channel->run->number || channel->form == REMOTE_INTAKE;
    channel->reads = is_both || (channel->form == REMOTE_OUTPUT) == is_server;
    channel->writes = is_both || !channel->reads;
    /* A sink that is full holds up the data that came after it in the same run. No other channel
     * reports about a run's files, so those hold up nothing. */
    bool is_ordered =
        !is_server && channel->place != RUN_FD_FILES && channel->form != REMOTE_INTAKE;
    channel->lane = is_ordered ? &channel->run->lane : &channel->own_lane;
}

struct channel *channel_new(struct run *run, uint32_t number, enum remote_form form, int place)
{
    struct link *link = run->link;
    if (link->channel_count >= REMOTE_CHANNELS_LIMIT)
        return NULL;
    struct channel *channel = calloc(1, sizeof(*channel));
    if (!channel)
        return NULL;
    *channel = (struct channel){
        .number = number,
        .form = form,
        .place = place,
        .run = run,
        .fd = -1,
        .allowance = REMOTE_WINDOW,
        .room = REMOTE_WINDOW,
        .content = {.memfd = -1},
        .next_in_bucket = *bucket_of(link, number),
        .next_in_run = run->channels,
    };
    set_directions(channel);
    *bucket_of(link, number) = channel;
    if (run->channels)
        run->channels->previous_in_run = channel;
    run->channels = channel;
    run->channel_count++;
    link->channel_count++;
    return channel;
}

bool channel_watch(struct channel *channel, int fd)
{
    struct epoll_event event = {
        .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
        .data.u64 = channel->number,
    };
    if (epoll_ctl(channel->run->link->epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
        close_fd(fd);
        return false;
    }
    channel->fd = fd;
    return fcntl(fd, F_SETFL, O_NONBLOCK) == 0;
}

void channel_close(struct channel *channel)
{
    if (channel->fd < 0)
        return;
    /* Other processes may have the same open file, so closing alone would not end the watch. */
    if (channel->form != REMOTE_CONTENT)
        (void)epoll_ctl(channel->run->link->epoll, EPOLL_CTL_DEL, channel->fd, NULL);
    /* Nor would closing alone reach the process that has the other end. */
    if (channel->form == REMOTE_DATAGRAMS || channel->form == REMOTE_INPUT ||
        channel->form == REMOTE_INTAKE)
        (void)shutdown(channel->fd, SHUT_RDWR);
    close_fd(TAKE_FD(channel->fd));
}

void channel_make_due(struct channel *channel)
{
    struct link *link = channel->run->link;
    if (channel->is_due || !channel->reads || channel->end_sent)
        return;
    channel->is_due = true;
    channel->next_due = NULL;
    if (link->due_last)
        link->due_last->next_due = channel;
    else
        link->due_first = channel;
    link->due_last = channel;
}

void channel_forget_due(struct channel *channel)
{
    struct link *link = channel->run->link;
    struct channel *previous = NULL;
    if (!channel->is_due)
        return;
    for (struct channel *i = link->due_first; i && i != channel; i = i->next_due)
        previous = i;
    if (previous)
        previous->next_due = channel->next_due;
    else
        link->due_first = channel->next_due;
    if (link->due_last == channel)
        link->due_last = previous;
    channel->is_due = false;
}

static void clear_held(struct channel *channel)
{
    if (!channel->held.bytes)
        return;
    explicit_bzero(channel->held.bytes, channel->held.length);
    free(channel->held.bytes);
    channel->held = (struct held){.bytes = NULL};
    channel->run->held_count--;
}

static void take_from_lists(struct channel *channel)
{
    struct run *run = channel->run;
    struct channel **place = bucket_of(run->link, channel->number);
    while (*place != channel)
        place = &(*place)->next_in_bucket;
    *place = channel->next_in_bucket;
    if (channel->previous_in_run)
        channel->previous_in_run->next_in_run = channel->next_in_run;
    else
        run->channels = channel->next_in_run;
    if (channel->next_in_run)
        channel->next_in_run->previous_in_run = channel->previous_in_run;
    channel_forget_due(channel);
    run->channel_count--;
    run->link->channel_count--;
}

/* Everything but its memory. */
static void release(struct channel *channel)
{
    lane_forget(channel->lane, channel);
    channel_close(channel);
    clear_held(channel);
    content_clear(&channel->content);
    intake_clear(channel);
}

static void bury(struct channel *channel)
{
    struct run *run = channel->run;
    channel->is_dead = true;
    release(channel);
    take_from_lists(channel);
    channel->next_in_bucket = run->link->dead;
    run->link->dead = channel;
    if (run->channel == channel)
        run->channel = NULL;
    if (run->channel_count == 0)
        run_end(run);
}

void channel_bury(struct link *link)
{
    while (link->dead) {
        struct channel *channel = link->dead;
        link->dead = channel->next_in_bucket;
        free(channel);
    }
}

static void bury_if_over(struct channel *channel)
{
    if (channel->end_sent && channel->end_received && !channel->is_dead)
        bury(channel);
}

/* With the run the listener in its sandbox ends; this side's descriptor would keep it open. */
static void end_intake(struct run *run)
{
    struct channel *next;
    for (struct channel *i = run->channels; i; i = next) {
        next = i->next_in_run;
        if (i->form == REMOTE_INTAKE && !i->end_sent)
            channel_reset(i);
    }
}

void channel_end(struct channel *channel, enum remote_kind kind)
{
    if (channel == channel->run->channel && channel->run->link->is_server)
        end_intake(channel->run);
    if (!channel->end_sent)
        connection_put(channel->run->link->connection, kind, channel->number, NULL, 0);
    channel->end_sent = true;
    bury_if_over(channel);
}

void channel_take_end(struct channel *channel)
{
    channel->end_received = true;
    bury_if_over(channel);
}

/* Those that wait for its bytes need to wait no more. */
static void wake_followers(struct run *run)
{
    for (struct channel *i = run->held_count > 0 ? run->channels : NULL; i; i = i->next_in_run)
        if (i->held.bytes)
            channel_make_due(i);
}

void channel_reset(struct channel *channel)
{
    struct run *run = channel->run;
    release(channel);
    channel_forget_due(channel);
    wake_followers(run);
    channel_end(channel, REMOTE_RESET);
}

bool channel_take_room(struct channel *channel, uint32_t cost)
{
    if (cost > channel->room)
        return connection_break(channel->run->link->connection,
                                "more bytes than there is room for");
    channel->room -= cost;
    return true;
}

void channel_took(struct channel *channel, uint32_t cost)
{
    unsigned char payload[sizeof(uint32_t)];
    struct wire_writer writer = {
        .bytes = payload, .capacity = sizeof(payload), .limit = sizeof(payload)};
    channel->taken += cost;
    if (channel->taken < WORTH_TELLING || channel->end_sent)
        return;
    wire_put_u32(&writer, channel->taken);
    connection_put(channel->run->link->connection, REMOTE_TAKEN, channel->number, payload,
                   sizeof(payload));
    channel->room += channel->taken;
    channel->taken = 0;
}
