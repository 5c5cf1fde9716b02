/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the way of a call and of its answer: see tool_channel.h. */
#include "interpreter/tool_command/tool_channel.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "interpreter/tool_command/tool_cell.h"
#include "interpreter/tool_command/tool_frame.h"
#include "interpreter/tool_command/tool_listing.h"
#include "interpreter/tool_command/tool_locks.h"
#include "protocol/run_description.h"

#define TICK_NS         10000 /* numbers of calls come again after 11 hours */
#define REST_OF_HEAD_MS 1     /* it is on its way */

static const char no_descriptors[] = "the descriptors for calls are not those of the run";
static const char no_more_calls[] = "the gateway takes no more calls";
static const char cut_off[] = "a call was killed while it was written or answered, so no further "
                              "one can be made";
static const char no_locks[] = "the processes of this run cannot lock their descriptors";
static const char not_kept[] = "what the gateway has told of the tools was not kept: the directory "
                               "for temporary files is full, or TMPDIR is another";
static const char no_memory[] = "no memory for the call";

/* The begin of a frame that has not been taken yet. */
struct head {
    uint8_t kind;
    size_t size;     /* of the whole frame */
    uint32_t number; /* of the call; with the tools: of calls that may be open */
};

/* A child may have been started without them, or have other files there. */
static bool has_descriptors(void)
{
    struct stat results;
    struct stat answers;
    return fstat(RUN_RESULTS_FD, &results) == 0 && fstat(RUN_TOOLS_FD, &answers) == 0 &&
           S_ISFIFO(results.st_mode) && S_ISSOCK(answers.st_mode);
}

static void await(int fd, short events)
{
    struct pollfd ready = {.fd = fd, .events = events};
    (void)poll(&ready, 1, -1);
}

/* false: so much has not come yet. */
static bool read_head(const unsigned char *bytes, size_t length, struct head *ret)
{
    if (length < TOOL_FRAME_HEADER)
        return false;
    *ret = (struct head){.kind = bytes[4], .size = tool_frame_size(bytes)};
    bool has_number = ret->kind == TOOL_FRAME_ANSWER || ret->kind == TOOL_FRAME_TOOLS;
    if (!has_number || ret->size < TOOL_ANSWER_HEADER)
        return true;
    ret->number = length < TOOL_ANSWER_HEADER ? 0 : tool_frame_number(bytes + TOOL_FRAME_HEADER);
    return length == TOOL_ANSWER_HEADER;
}

/* Without taking anything: it may be another process's. false: there will be no further one. */
static bool look_at_head(struct head *ret)
{
    unsigned char bytes[TOOL_ANSWER_HEADER];
    for (;;) {
        ssize_t length = recv(RUN_TOOLS_FD, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
        if (length == 0 || (length < 0 && errno != EAGAIN && errno != EINTR))
            return false;
        if (length > 0 && read_head(bytes, (size_t)length, ret))
            return ret->size <= TOOL_FRAME_LIMIT;
        if (length > 0)
            (void)poll(NULL, 0, REST_OF_HEAD_MS);
        else
            await(RUN_TOOLS_FD, POLLIN);
    }
}

/* What is done between begin and end is done in whole, unless the process is killed. */
static void begin_pieces(enum tool_mark mark, sigset_t *ret_mask)
{
    sigset_t all;
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, ret_mask);
    tool_mark_set(mark, true);
}

static void end_pieces(enum tool_mark mark, bool is_whole, const sigset_t *mask)
{
    if (is_whole)
        tool_mark_set(mark, false);
    (void)sigprocmask(SIG_SETMASK, mask, NULL);
}

static bool read_pieces(unsigned char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t taken = recv(RUN_TOOLS_FD, bytes, length, 0);
        if (taken < 0 && errno == EAGAIN)
            await(RUN_TOOLS_FD, POLLIN);
        else if (taken == 0 || (taken < 0 && errno != EINTR))
            return false;
        bytes += taken > 0 ? taken : 0;
        length -= taken > 0 ? (size_t)taken : 0;
    }
    return true;
}

/* Takes the frame, for the caller to free. What has come whole is taken by one call, which nothing
 * interrupts. */
static const char *take_frame(const struct head *head, unsigned char **ret)
{
    sigset_t mask;
    CLEANUP_FREE unsigned char *frame = malloc(head->size + 1);
    if (!frame)
        return no_memory;
    bool is_whole =
        recv(RUN_TOOLS_FD, frame, head->size, MSG_PEEK | MSG_DONTWAIT) == (ssize_t)head->size;
    if (is_whole) {
        is_whole = recv(RUN_TOOLS_FD, frame, head->size, MSG_DONTWAIT) == (ssize_t)head->size;
    } else {
        begin_pieces(TOOL_MARK_ANSWER, &mask);
        is_whole = read_pieces(frame, head->size);
        end_pieces(TOOL_MARK_ANSWER, is_whole, &mask);
    }
    if (!is_whole)
        return no_more_calls;
    *ret = TAKE_POINTER(frame);
    return NULL;
}

/* Behind the lock of the reader. Takes the next frame; *ret stays NULL where it is not ours to
 * take. */
static const char *take_next(uint32_t number, struct head *head, unsigned char **ret)
{
    if (tool_mark_is_set(TOOL_MARK_ANSWER))
        return cut_off;
    if (!look_at_head(head))
        return no_more_calls;
    bool is_answer = head->kind == TOOL_FRAME_ANSWER;
    if (is_answer && head->number != 0 && head->number != number &&
        tool_lock_is_held(TOOL_LOCK_NUMBERS + (int64_t)head->number))
        return NULL;
    if (head->kind == TOOL_FRAME_TOOLS)
        tool_slots_set(head->number);
    const char *problem = take_frame(head, ret);
    if (!problem && head->kind == TOOL_FRAME_TOOLS && head->size > TOOL_LISTING_HEADER)
        tool_listing_keep(*ret + TOOL_LISTING_HEADER, head->size - TOOL_LISTING_HEADER);
    return problem;
}

/* The answer that is next belongs to a process that holds this lock until it has taken it. */
static void await_other(uint32_t number)
{
    if (tool_lock_take(TOOL_LOCK_NUMBERS + (int64_t)number))
        tool_lock_give_back(TOOL_LOCK_NUMBERS + (int64_t)number);
}

static const char *receive(uint32_t number, struct tool_reply *ret)
{
    while (tool_lock_take(TOOL_LOCK_READER)) {
        struct head head = {.number = 0};
        CLEANUP_FREE unsigned char *frame = NULL;
        const char *problem = take_next(number, &head, &frame);
        tool_lock_give_back(TOOL_LOCK_READER);
        if (problem)
            return problem;
        if (!frame) {
            await_other(head.number);
        } else if (head.kind == TOOL_FRAME_ANSWER && head.number == number) {
            *ret = (struct tool_reply){.form = frame[TOOL_ANSWER_HEADER - 1],
                                       .bytes = frame + TOOL_ANSWER_HEADER,
                                       .length = head.size - TOOL_ANSWER_HEADER,
                                       .frame = frame};
            frame = NULL;
            return NULL;
        }
    }
    return no_locks;
}

/* Of the clock that all processes have in common, in ticks. */
static uint32_t ticks(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint32_t)(((uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec) /
                      TICK_NS);
}

/* Behind the lock of the sender: no call has it, not even one whose process was killed. */
static uint32_t next_number(void)
{
    uint32_t begin = ticks();
    uint32_t number;
    do
        number = ticks();
    while (number == begin || number == 0);
    return number;
}

static bool write_pieces(const unsigned char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t written = write(RUN_RESULTS_FD, bytes, length);
        if (written < 0 && errno == EAGAIN)
            await(RUN_RESULTS_FD, POLLOUT);
        else if (written < 0 && errno != EINTR)
            return false;
        bytes += written > 0 ? written : 0;
        length -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

/* A short one is written whole or not at all. */
static bool write_frame(const unsigned char *frame, size_t length)
{
    sigset_t mask;
    if (length <= PIPE_BUF)
        return write_pieces(frame, length);
    begin_pieces(TOOL_MARK_CALL, &mask);
    bool is_whole = write_pieces(frame, length);
    end_pieces(TOOL_MARK_CALL, is_whole, &mask);
    return is_whole;
}

/* Behind the lock of the sender. */
static const char *send_next(unsigned char *frame, size_t length, uint32_t *ret_number)
{
    if (tool_mark_is_set(TOOL_MARK_CALL))
        return cut_off;
    uint32_t number = next_number();
    if (!tool_lock_try(TOOL_LOCK_NUMBERS + (int64_t)number))
        return no_locks;
    tool_frame_put_number(number, 4, frame + TOOL_FRAME_HEADER);
    *ret_number = number;
    return write_frame(frame, length) ? NULL : no_more_calls;
}

/* The frame of a call that has no number yet; NULL: no memory. */
static unsigned char *make_call(const char *name, size_t name_length, const void *arguments,
                                size_t length, size_t *ret_size)
{
    size_t payload = TOOL_CALL_HEADER + name_length + length;
    unsigned char *frame = calloc(1, TOOL_FRAME_HEADER + payload);
    if (!frame)
        return NULL;
    unsigned char *at = frame + TOOL_FRAME_HEADER;
    tool_frame_put_number((uint32_t)payload, 4, frame);
    frame[4] = TOOL_FRAME_CALL;
    tool_frame_put_number((uint32_t)name_length, 2, at + 4);
    memcpy(at + TOOL_CALL_HEADER, name, name_length);
    memcpy(at + TOOL_CALL_HEADER + name_length, arguments, length);
    *ret_size = TOOL_FRAME_HEADER + payload;
    return frame;
}

static const char *send_call(unsigned char *frame, size_t size, uint32_t *ret_number)
{
    if (!tool_lock_take(TOOL_LOCK_SENDER))
        return no_locks;
    const char *problem = send_next(frame, size, ret_number);
    tool_lock_give_back(TOOL_LOCK_SENDER);
    return problem;
}

/* Further calls wait here, so that no program has more open answers than the gateway keeps. Every
 * lock is given back by the end of the process. */
static bool enter_slot(uint32_t slots)
{
    for (uint32_t slot = 0; slot < slots; slot++)
        if (tool_lock_try(TOOL_LOCK_SLOTS + (int64_t)slot))
            return true;
    return tool_lock_take(TOOL_LOCK_SLOTS + getpid() % (int64_t)slots);
}

/* Off the socket, if no process has yet. */
static const char *take_listing(void)
{
    const char *problem = NULL;
    struct head head;
    CLEANUP_FREE unsigned char *frame = NULL;
    if (!has_descriptors())
        return no_descriptors;
    if (tool_slots() > 0)
        return NULL;
    /* Not the reader's alone: a call that has begun meanwhile holds that until its answer comes. */
    if (!tool_lock_take(TOOL_LOCK_LISTING))
        return no_locks;
    if (tool_slots() == 0 && tool_lock_take(TOOL_LOCK_READER)) {
        problem = take_next(0, &head, &frame);
        tool_lock_give_back(TOOL_LOCK_READER);
    }
    tool_lock_give_back(TOOL_LOCK_LISTING);
    return problem;
}

static const char *call(unsigned char *frame, size_t size, struct tool_reply *ret)
{
    uint32_t number = 0;
    const char *problem = take_listing();
    if (problem)
        return problem;
    uint32_t slots = tool_slots();
    if (slots == 0)
        return no_more_calls;
    if (!enter_slot(slots))
        return no_locks;
    problem = send_call(frame, size, &number);
    if (!problem)
        problem = receive(number, ret);
    if (number != 0) /* those that wait for this one need not wait for what is done with it */
        tool_lock_give_back(TOOL_LOCK_NUMBERS + (int64_t)number);
    return problem;
}

const char *tool_channel_call(const char *name, const void *arguments, size_t length,
                              struct tool_reply *ret)
{
    size_t size = 0;
    CLEANUP_FREE unsigned char *frame = make_call(name, strlen(name), arguments, length, &size);
    if (!frame)
        return no_memory;
    return tool_cell_is_there() ? tool_cell_ask(TOOL_ASK_CALL, frame, size, ret)
                                : call(frame, size, ret);
}

const char *tool_channel_listing(struct tool_reply *ret)
{
    if (tool_cell_is_there())
        return tool_cell_ask(TOOL_ASK_LISTING, NULL, 0, ret);
    const char *problem = take_listing();
    if (problem)
        return problem;
    ret->form = TOOL_ANSWER_JSON;
    return tool_listing_read(ret) ? NULL : not_kept;
}
