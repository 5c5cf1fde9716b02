/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the way between the processes that call and the channel of the cell: see shell_tools.h. */
#include "interpreter/shell/shell_tools.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/write_fully.h"
#include "interpreter/cell/cell.h"
#include "interpreter/tool_command/tool_frame.h"
#include "protocol/channel.h"
#include "protocol/run_description.h"

static const char none_here[] =
    "{\"code\":\"unavailable\",\"message\":\"the cell has ended, or has "
    "no tools\",\"retryable\":false}";

/* A frame, and how much of it has come or gone. {0}: none. */
struct frame {
    unsigned char *bytes; /* owned */
    size_t size;
    size_t done;
};

/* A process that asks. */
struct asking {
    int stream; /* -1: there is none */
    char ask;
    uint64_t turn; /* they are served in this order */
    struct frame call;
    uint32_t number; /* of the call once it is on its way; 0: it is not */
    struct frame answer;
};

enum watched { WATCHED_ASKED, WATCHED_CALLS, WATCHED_ANSWERS, WATCHED_ASKING };

static struct {
    int asked; /* the socket; -1: nobody has the other end any more */
    struct asking asking[SHELL_TOOLS_ASKING];
    bool has_channel;      /* the cell has tools, and the gateway answers */
    bool is_used;          /* by the cell; until then nothing is taken off the channel */
    struct frame sending;  /* the call under way */
    struct frame incoming; /* its header is in header first */
    unsigned char header[TOOL_FRAME_HEADER];
    struct frame listing; /* what the gateway tells of the tools */
    uint32_t last_number;
    uint64_t last_turn;
} tools = {.asked = -1};

static void drop_frame(struct frame *frame)
{
    free(frame->bytes);
    *frame = (struct frame){.bytes = NULL};
}

static void drop_asking(struct asking *asking)
{
    close_fd(asking->stream);
    drop_frame(&asking->call);
    drop_frame(&asking->answer);
    *asking = (struct asking){.stream = -1};
}

int shell_tools_open(void)
{
    int pair[2];
    for (size_t i = 0; i < SHELL_TOOLS_ASKING; i++)
        tools.asking[i].stream = -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    tools.asked = pair[0];
    return pair[1];
}

/* No call is made any more, and open ones have no answer. */
static void close_channel(void)
{
    for (size_t i = 0; i < SHELL_TOOLS_ASKING; i++)
        drop_asking(&tools.asking[i]);
    drop_frame(&tools.incoming);
    drop_frame(&tools.listing);
    tools.has_channel = tools.is_used = false;
}

void shell_tools_begin_cell(bool has_tools)
{
    tools.has_channel = has_tools;
}

void shell_tools_end_cell(void)
{
    if (tools.sending.bytes)
        (void)write_fully(RUN_RESULTS_FD, tools.sending.bytes + tools.sending.done,
                          tools.sending.size - tools.sending.done);
    drop_frame(&tools.sending);
    close_channel();
    cell_answers_close();
}

static void refuse(int stream)
{
    unsigned char frame[TOOL_ANSWER_HEADER + sizeof(none_here) - 1] = {0};
    tool_frame_put_number(sizeof(frame) - TOOL_FRAME_HEADER, 4, frame);
    frame[4] = TOOL_FRAME_ANSWER;
    frame[TOOL_ANSWER_HEADER - 1] = TOOL_ANSWER_ERROR;
    memcpy(&frame[TOOL_ANSWER_HEADER], none_here, sizeof(none_here) - 1);
    (void)send(stream, frame, sizeof(frame), MSG_DONTWAIT | MSG_NOSIGNAL);
}

static struct asking *find_free(void)
{
    for (size_t i = 0; i < SHELL_TOOLS_ASKING; i++)
        if (tools.asking[i].stream < 0)
            return &tools.asking[i];
    return NULL;
}

static bool copy_frame(const struct frame *frame, struct frame *ret)
{
    unsigned char *bytes = malloc(frame->size);
    if (!bytes)
        return false;
    memcpy(bytes, frame->bytes, frame->size);
    *ret = (struct frame){.bytes = bytes, .size = frame->size};
    return true;
}

static void answer_listing(struct asking *asking)
{
    if (!copy_frame(&tools.listing, &asking->answer))
        drop_asking(asking);
}

/* The stream is taken over. */
static void add_asking(struct asking *asking, int stream, char ask)
{
    *asking = (struct asking){.stream = stream, .ask = ask, .turn = ++tools.last_turn};
    if (ask == TOOL_ASK_CALL)
        asking->call.bytes = malloc(TOOL_CALL_LIMIT);
    if (ask == TOOL_ASK_CALL && !asking->call.bytes)
        drop_asking(asking);
    else if (ask == TOOL_ASK_LISTING && tools.listing.bytes)
        answer_listing(asking);
    tools.is_used = true;
}

static void take_asked(void)
{
    struct asking *asking = find_free();
    char ask = '\0';
    size_t count = 0;
    CLEANUP_CLOSE int stream = -1;
    ssize_t length = channel_receive_fds_now(tools.asked, &ask, sizeof(ask), &stream, 1, &count);
    if (length == 0)
        close_fd(TAKE_FD(tools.asked));
    if (length != (ssize_t)sizeof(ask) || count != 1)
        return;
    if (!tools.has_channel)
        refuse(stream);
    else if (asking && (ask == TOOL_ASK_CALL || ask == TOOL_ASK_LISTING))
        add_asking(asking, TAKE_FD(stream), ask);
}

/* Its size is that of the frame once the header is there. false: it is none. */
static bool note_size(struct frame *call)
{
    if (call->size > 0 || call->done < TOOL_FRAME_HEADER)
        return true;
    call->size = tool_frame_size(call->bytes);
    return call->bytes[4] == TOOL_FRAME_CALL && call->size <= TOOL_CALL_LIMIT &&
           call->size >= TOOL_FRAME_HEADER + TOOL_CALL_HEADER;
}

static bool is_whole(const struct frame *frame)
{
    return frame->size > 0 && frame->done == frame->size;
}

/* Takes what has come of its call. false: there will be no more of it. */
static bool take_call(struct asking *asking)
{
    struct frame *call = &asking->call;
    size_t wanted = (call->size > 0 ? call->size : TOOL_FRAME_HEADER) - call->done;
    ssize_t taken = recv(asking->stream, call->bytes + call->done, wanted, MSG_DONTWAIT);
    if (taken < 0)
        return errno == EAGAIN || errno == EINTR;
    call->done += (size_t)taken;
    return taken > 0 && note_size(call);
}

/* false: it has the whole answer, or wants it no more. */
static bool give_answer(struct asking *asking)
{
    struct frame *answer = &asking->answer;
    ssize_t sent = send(asking->stream, answer->bytes + answer->done, answer->size - answer->done,
                        MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0)
        return errno == EAGAIN || errno == EINTR;
    answer->done += (size_t)sent;
    return answer->done < answer->size;
}

static bool reads_call(const struct asking *asking)
{
    return asking->call.bytes && !is_whole(&asking->call);
}

/* What it waits for. Its end is always seen. */
static short events_of(const struct asking *asking)
{
    if (asking->answer.bytes)
        return POLLOUT;
    return reads_call(asking) ? POLLIN : 0;
}

static void serve_asking(struct asking *asking, short events)
{
    bool goes_on = true;
    if (events & POLLOUT && asking->answer.bytes)
        goes_on = give_answer(asking);
    else if (events & POLLIN && reads_call(asking))
        goes_on = take_call(asking);
    else if (events & (POLLHUP | POLLERR | POLLNVAL))
        goes_on = false;
    if (!goes_on)
        drop_asking(asking);
}

/* Of those whose call has come whole; NULL: there is none. */
static struct asking *find_next(void)
{
    struct asking *next = NULL;
    for (size_t i = 0; i < SHELL_TOOLS_ASKING; i++) {
        struct asking *asking = &tools.asking[i];
        if (asking->stream >= 0 && is_whole(&asking->call) && (!next || asking->turn < next->turn))
            next = asking;
    }
    return next;
}

/* It is under way from now on, whatever becomes of its process. */
static void begin_sending(void)
{
    struct asking *asking = tools.sending.bytes ? NULL : find_next();
    if (!asking)
        return;
    tools.last_number += tools.last_number == UINT32_MAX ? 2 : 1; /* 0 is none */
    asking->number = tools.last_number;
    tool_frame_put_number(asking->number, 4, asking->call.bytes + TOOL_FRAME_HEADER);
    tools.sending = asking->call;
    tools.sending.done = 0;
    asking->call = (struct frame){.bytes = NULL};
}

/* A piece of this length is written at once where the pipe has room for anything. */
static void send_more(void)
{
    size_t left = tools.sending.size - tools.sending.done;
    ssize_t written = write(RUN_RESULTS_FD, tools.sending.bytes + tools.sending.done,
                            left < PIPE_BUF ? left : PIPE_BUF);
    if (written > 0)
        tools.sending.done += (size_t)written;
    if (written < 0 && errno != EAGAIN && errno != EINTR)
        close_channel();
    if (is_whole(&tools.sending) || !tools.has_channel)
        drop_frame(&tools.sending);
}

/* Each has its own: they end at different times. */
static void take_listing(void)
{
    drop_frame(&tools.listing);
    tools.listing = tools.incoming;
    for (size_t i = 0; i < SHELL_TOOLS_ASKING; i++)
        if (tools.asking[i].stream >= 0 && tools.asking[i].ask == TOOL_ASK_LISTING &&
            !tools.asking[i].answer.bytes)
            answer_listing(&tools.asking[i]);
}

/* That of a process which has ended is dropped. */
static void take_answer(void)
{
    uint32_t number = tools.incoming.size < TOOL_ANSWER_HEADER
                          ? 0
                          : tool_frame_number(tools.incoming.bytes + TOOL_FRAME_HEADER);
    for (size_t i = 0; number != 0 && i < SHELL_TOOLS_ASKING; i++) {
        struct asking *asking = &tools.asking[i];
        if (asking->stream < 0 || asking->number != number || asking->answer.bytes)
            continue;
        asking->answer = tools.incoming;
        asking->answer.done = 0;
        return;
    }
    drop_frame(&tools.incoming);
}

static void take_frame(void)
{
    if (tools.header[4] == TOOL_FRAME_TOOLS)
        take_listing();
    else
        take_answer();
    tools.incoming = (struct frame){.bytes = NULL};
}

/* Room for the frame behind the header. */
static bool begin_incoming(void)
{
    size_t size = tool_frame_size(tools.header);
    unsigned char *bytes = size <= TOOL_FRAME_LIMIT ? malloc(size) : NULL;
    if (!bytes)
        return false;
    memcpy(bytes, tools.header, sizeof(tools.header));
    tools.incoming.bytes = bytes;
    tools.incoming.size = size;
    return true;
}

/* Some of the next frame. false: there will be no further one. */
static bool take_incoming(void)
{
    struct frame *frame = &tools.incoming;
    unsigned char *at = frame->bytes ? frame->bytes : tools.header;
    size_t size = frame->bytes ? frame->size : sizeof(tools.header);
    ssize_t taken = recv(RUN_TOOLS_FD, at + frame->done, size - frame->done, MSG_DONTWAIT);
    if (taken < 0)
        return errno == EAGAIN || errno == EINTR;
    frame->done += (size_t)taken;
    if (taken > 0 && !frame->bytes && frame->done == sizeof(tools.header) && !begin_incoming())
        return false;
    if (frame->bytes && is_whole(frame))
        take_frame();
    return taken > 0;
}

void shell_tools_watch(struct pollfd ret[SHELL_TOOLS_WATCHED])
{
    begin_sending();
    ret[WATCHED_ASKED] = (struct pollfd){.fd = find_free() ? tools.asked : -1, .events = POLLIN};
    ret[WATCHED_CALLS] =
        (struct pollfd){.fd = tools.sending.bytes ? RUN_RESULTS_FD : -1, .events = POLLOUT};
    ret[WATCHED_ANSWERS] =
        (struct pollfd){.fd = tools.is_used ? RUN_TOOLS_FD : -1, .events = POLLIN};
    for (size_t i = 0; i < SHELL_TOOLS_ASKING; i++)
        ret[WATCHED_ASKING + i] =
            (struct pollfd){.fd = tools.asking[i].stream, .events = events_of(&tools.asking[i])};
}

/* The answers last: an end of them ends all calls. */
void shell_tools_serve(const struct pollfd ready[SHELL_TOOLS_WATCHED])
{
    for (size_t i = 0; i < SHELL_TOOLS_ASKING; i++)
        if (ready[WATCHED_ASKING + i].revents && tools.asking[i].stream >= 0)
            serve_asking(&tools.asking[i], ready[WATCHED_ASKING + i].revents);
    if (ready[WATCHED_ASKED].revents)
        take_asked();
    if (ready[WATCHED_CALLS].revents && tools.sending.bytes)
        send_more();
    if (ready[WATCHED_ANSWERS].revents && tools.is_used && !take_incoming())
        close_channel();
}
