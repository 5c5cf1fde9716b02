/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the copy of a descriptor on the other side. The gateway's side sends its kind and its place;
 * the worker's side makes a descriptor of the same kind, and keeps the other end. Runs in
 * code-execute-remote and code-execute-worker.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/remote/relay/intake.h"
#include "backends/remote/relay/relay.h"
#include "base/cleanup.h"
#include "protocol/session.h"
#include "protocol/session_cell.h"

#define BRIEF_FDS (RUN_FD_RESULTS - RUN_FD_STDIN + 1)

/* The place of the first one, by how many a datagram brings (protocol/session.h). */
static int place_of(size_t count, size_t index)
{
    switch (count) {
    case RUN_ATTACHMENTS:
    case SESSION_CELL_FDS: /* and SESSION_PROGRAM_FDS */
        return RUN_FD_DESCRIPTION + (int)index;
    case BRIEF_FDS:
        return RUN_FD_STDIN + (int)index;
    case SESSION_COLLECT_FDS:
        return index == 0 ? RUN_FD_DESCRIPTION : RUN_FD_FILES;
    default:
        return -1;
    }
}

_Static_assert(SESSION_PROGRAM_FDS == SESSION_CELL_FDS, "they have the same places");

/* REMOTE_FORM_END: it does not go over. */
static enum remote_form form_of_socket(int fd, int place)
{
    int type = 0;
    socklen_t length = sizeof(type);
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) != 0)
        return REMOTE_FORM_END;
    if (place == RUN_FD_ENDPOINTS)
        return type == SOCK_SEQPACKET ? REMOTE_INTAKE : REMOTE_FORM_END;
    if (type == SOCK_STREAM)
        return REMOTE_INPUT;
    return type == SOCK_SEQPACKET ? REMOTE_DATAGRAMS : REMOTE_FORM_END;
}

static enum remote_form form_of(int fd, int place, uint64_t *ret_size)
{
    struct stat facts;
    if (fstat(fd, &facts) != 0)
        return REMOTE_FORM_END;
    if (S_ISCHR(facts.st_mode))
        return REMOTE_NOTHING;
    if (S_ISSOCK(facts.st_mode))
        return form_of_socket(fd, place);
    if (S_ISFIFO(facts.st_mode))
        return (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY ? REMOTE_INPUT : REMOTE_OUTPUT;
    if (!S_ISREG(facts.st_mode) || facts.st_size < 0 ||
        (uint64_t)facts.st_size > REMOTE_CONTENT_LIMIT)
        return REMOTE_FORM_END;
    *ret_size = (uint64_t)facts.st_size;
    return REMOTE_CONTENT;
}

static bool has_room(const struct link *link, size_t count)
{
    return link->channel_count + count <= REMOTE_CHANNELS_LIMIT &&
           link->last_number <= UINT32_MAX - count;
}

static bool replace_intake(int *fd)
{
    int stream = -1;
    if (!intake_give(*fd, &stream))
        return false;
    close_fd(*fd);
    *fd = stream;
    return true;
}

/* The descriptor is the channel's then. */
static bool give(struct run *run, int *fd, int place, struct remote_attachment *ret)
{
    struct link *link = run->link;
    uint64_t size = 0;
    enum remote_form form = form_of(*fd, place, &size);
    if (form == REMOTE_FORM_END)
        return false;
    *ret = (struct remote_attachment){.form = form, .size = size};
    if (form == REMOTE_NOTHING) {
        close_fd(TAKE_FD(*fd));
        return true;
    }
    struct channel *channel = channel_new(run, ++link->last_number, form, place);
    if (!channel)
        return false;
    ret->channel = channel->number;
    channel->content.size = size;
    if (form == REMOTE_INTAKE && !replace_intake(fd))
        return false;
    if (form == REMOTE_CONTENT)
        channel->fd = TAKE_FD(*fd);
    else if (!channel_watch(channel, TAKE_FD(*fd)))
        return false;
    channel_make_due(channel);
    return true;
}

/* The other side has not heard of them. */
static void take_back(struct run *run, const struct remote_datagram *datagram, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct channel *channel = channel_find(run->link, datagram->attachments[i].channel);
        if (!channel)
            continue;
        channel->end_sent = true;
        channel_take_end(channel);
    }
}

bool attachments_give(struct run *run, int *fds, size_t count, struct remote_datagram *ret)
{
    bool is_given = count <= REMOTE_ATTACHMENTS_LIMIT && has_room(run->link, count);
    uint32_t first = run->link->last_number + 1;
    *ret = (struct remote_datagram){.attachment_count = count};
    for (size_t i = 0; i < count && is_given; i++)
        is_given = give(run, &fds[i], place_of(count, i), &ret->attachments[i]);
    if (!is_given)
        take_back(run, ret, count <= REMOTE_ATTACHMENTS_LIMIT ? count : 0);
    for (size_t i = 0; i < count; i++)
        close_fd(TAKE_FD(fds[i]));
    for (size_t i = 0; i < count && is_given; i++) {
        struct channel *channel = channel_find(run->link, ret->attachments[i].channel);
        if (channel)
            channel->datagram = first;
    }
    return is_given;
}

/* Both ends, the first one the channel's. What is inside can send nothing back. */
static bool make_socket(int type, int ret[2])
{
    if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ret) != 0)
        return false;
    if (shutdown(ret[1], SHUT_WR) == 0)
        return true;
    close_fd(ret[0]);
    close_fd(ret[1]);
    return false;
}

/* A cell opens /dev/stdout by its name, as another user (plugin/run/backend_client.c). */
static bool make_pipe(bool is_cell, int ret[2])
{
    if (pipe2(ret, O_CLOEXEC) != 0)
        return false;
    if (!is_cell || fchmod(ret[1], 0666) == 0)
        return true;
    close_fd(ret[0]);
    close_fd(ret[1]);
    return false;
}

/* The descriptor that is handed on, to *ret; of a content it comes later. */
static bool make_ends(struct channel *channel, const struct remote_attachment *attachment,
                      struct block *block, size_t index)
{
    int ends[2] = {-1, -1};
    bool is_cell = channel->run->state == RUN_SENT;
    if (attachment->form == REMOTE_CONTENT)
        return content_begin(channel, block, index, attachment->size);
    if (attachment->form == REMOTE_INTAKE)
        return intake_make(channel, &block->fds[index]);
    if (attachment->form == REMOTE_OUTPUT
            ? !make_pipe(is_cell, ends)
            : !make_socket(attachment->form == REMOTE_INPUT ? SOCK_STREAM : SOCK_SEQPACKET, ends))
        return false;
    block->fds[index] = ends[1];
    return channel_watch(channel, ends[0]);
}

static bool make(struct channel *carrier, const struct remote_attachment *attachment, int place,
                 struct block *block, size_t index, uint32_t first)
{
    struct run *run = carrier->run;
    struct link *link = run->link;
    if (attachment->form == REMOTE_NOTHING) {
        block->fds[index] = open("/dev/null", O_RDWR | O_CLOEXEC);
        block->failed |= block->fds[index] < 0;
        return true;
    }
    if (attachment->channel <= link->last_number ||
        (attachment->form == REMOTE_INTAKE && place != RUN_FD_ENDPOINTS))
        return connection_break(link->connection, "an attachment that cannot be");
    link->last_number = attachment->channel;
    struct channel *channel = channel_new(run, attachment->channel, attachment->form, place);
    if (!channel)
        return connection_break(link->connection, "too many channels");
    channel->datagram = first;
    if (!carrier->end_sent && make_ends(channel, attachment, block, index))
        return true;
    block->failed = true;
    channel_reset(channel);
    return true;
}

bool attachments_make(struct channel *carrier, const struct remote_datagram *datagram,
                      struct block *block)
{
    size_t count = datagram->attachment_count;
    uint32_t first = carrier->run->link->last_number + 1;
    for (size_t i = 0; i < count; i++)
        if (!make(carrier, &datagram->attachments[i], place_of(count, i), block, i, first))
            return false;
    return true;
}
