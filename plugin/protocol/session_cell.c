/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the form of a cell's datagram: see session_cell.h. */
#include "protocol/session_cell.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "protocol/session.h"

#define STREAMS (RUN_FD_RESULTS - RUN_FD_STDIN + 1)

int session_cell_fd(const struct session_cell *cell, enum run_fd which)
{
    return cell->fds[which - RUN_FD_FIRST_INSIDE];
}

int session_cell_send(int socket, char kind, const int fds[SESSION_CELL_FDS])
{
    return channel_send(socket, &kind, sizeof(kind), fds, SESSION_CELL_FDS);
}

int session_cell_send_brief(int socket, char kind, const unsigned char *description, size_t length,
                            const int *streams)
{
    unsigned char datagram[1 + SESSION_BRIEF_LIMIT];
    if (length == 0 || length > SESSION_BRIEF_LIMIT) {
        errno = EMSGSIZE;
        return -1;
    }
    datagram[0] = (unsigned char)kind;
    memcpy(&datagram[1], description, length);
    int sent = channel_send(socket, datagram, 1 + length, streams, STREAMS);
    int error = errno;
    explicit_bzero(datagram, 1 + length);
    errno = error;
    return sent;
}

static bool is_cell(char kind)
{
    return kind == SESSION_CELL || kind == SESSION_CELL_CHECKPOINT;
}

/* To their places in the list. */
static void place_streams(struct session_cell *cell)
{
    const size_t first = RUN_FD_STDIN - RUN_FD_FIRST_INSIDE;
    memmove(&cell->fds[first], &cell->fds[0], STREAMS * sizeof(cell->fds[0]));
    for (size_t i = 0; i < SESSION_CELL_FDS; i++)
        if (i < first || i >= first + STREAMS)
            cell->fds[i] = -1;
}

/* Of a datagram with so many bytes and descriptors. */
static bool has_form(const struct session_cell *cell, size_t count)
{
    if (cell->is_brief)
        return is_cell(cell->kind) && count == STREAMS;
    return is_cell(cell->kind) ? count == SESSION_CELL_FDS
                               : cell->kind == SESSION_PARK && count == 0;
}

bool session_cell_receive(int socket, bool waits, struct session_cell *ret)
{
    unsigned char datagram[1 + SESSION_BRIEF_LIMIT];
    size_t count = 0;
    ssize_t length;
    ret->length = 0;
    for (size_t i = 0; i < SESSION_CELL_FDS; i++)
        ret->fds[i] = -1;
    do
        length = (waits ? channel_receive : channel_receive_fds_now)(
            socket, datagram, sizeof(datagram), ret->fds, SESSION_CELL_FDS, &count);
    while (length < 0 && errno == EINTR);
    if (length <= 0) {
        errno = length == 0 ? EPIPE : errno;
        return false;
    }
    ret->kind = (char)datagram[0];
    ret->length = (size_t)length - 1;
    ret->is_brief = ret->length > 0;
    memcpy(ret->description, &datagram[1], ret->length);
    explicit_bzero(datagram, (size_t)length);
    if (has_form(ret, count)) {
        if (ret->is_brief)
            place_streams(ret);
        return true;
    }
    session_cell_clear(ret);
    errno = EPROTO;
    return false;
}

void session_cell_clear(struct session_cell *cell)
{
    for (size_t i = 0; i < SESSION_CELL_FDS; i++)
        close_fd(TAKE_FD(cell->fds[i]));
    explicit_bzero(cell->description, cell->length);
    cell->length = 0;
}
