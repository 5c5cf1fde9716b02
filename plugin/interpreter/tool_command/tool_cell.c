/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the way of a call in a cell: see tool_cell.h. */
#include "interpreter/tool_command/tool_cell.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "interpreter/tool_command/tool_frame.h"
#include "interpreter/tool_command/tool_locks.h"
#include "protocol/channel.h"
#include "protocol/run_description.h"

static const char no_answer[] = "the cell has ended before the answer";
static const char no_room[] = "this process cannot ask for the tools of the cell";

bool tool_cell_is_there(void)
{
    int type = 0;
    socklen_t length = sizeof(type);
    return getsockopt(RUN_TOOLS_FD, SOL_SOCKET, SO_TYPE, &type, &length) == 0 &&
           type == SOCK_SEQPACKET;
}

/* Our end of the stream; -1: it cannot be had. */
static int open_stream(char ask)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    CLEANUP_CLOSE int ours = pair[0];
    CLEANUP_CLOSE int theirs = pair[1];
    return channel_send(RUN_TOOLS_FD, &ask, sizeof(ask), &theirs, 1) < 0 ? -1 : TAKE_FD(ours);
}

/* Where the other side takes no more of it, it has said why. */
static void send_frame(int stream, const unsigned char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t sent = send(stream, bytes, length, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR)
            return;
        bytes += sent > 0 ? sent : 0;
        length -= sent > 0 ? (size_t)sent : 0;
    }
}

static bool receive(int stream, unsigned char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t taken = recv(stream, bytes, length, 0);
        if (taken == 0 || (taken < 0 && errno != EINTR))
            return false;
        bytes += taken > 0 ? taken : 0;
        length -= taken > 0 ? (size_t)taken : 0;
    }
    return true;
}

static const char *receive_reply(int stream, struct tool_reply *ret)
{
    unsigned char header[TOOL_FRAME_HEADER];
    if (!receive(stream, header, sizeof(header)))
        return no_answer;
    size_t size = tool_frame_size(header);
    size_t begin = header[4] == TOOL_FRAME_ANSWER ? TOOL_ANSWER_HEADER : TOOL_LISTING_HEADER;
    if (size > TOOL_FRAME_LIMIT || size < begin)
        return no_answer;
    CLEANUP_FREE unsigned char *frame = malloc(size + 1);
    if (!frame)
        return no_room;
    if (!receive(stream, frame + TOOL_FRAME_HEADER, size - TOOL_FRAME_HEADER))
        return no_answer;
    *ret = (struct tool_reply){
        .form = header[4] == TOOL_FRAME_ANSWER ? frame[TOOL_ANSWER_HEADER - 1] : TOOL_ANSWER_JSON,
        .bytes = frame + begin,
        .length = size - begin,
        .frame = frame};
    frame = NULL;
    return NULL;
}

const char *tool_cell_ask(char ask, const unsigned char *frame, size_t length,
                          struct tool_reply *ret)
{
    if (length > 0 && !tool_slot_enter(RUN_TOOLS_FD))
        return no_room;
    CLEANUP_CLOSE int stream = open_stream(ask);
    if (stream < 0)
        return no_room;
    send_frame(stream, frame, length);
    const char *problem = receive_reply(stream, ret);
    /* One that cannot print its answer may be there for many cells. */
    tool_slot_leave(RUN_TOOLS_FD);
    return problem;
}
