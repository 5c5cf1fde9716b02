/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the buffer of answers for the program: see guest_tools.h. Runs in the guest. */
#include "guest/channels/guest_tools.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "guest/messages/guest_input.h"
#include "guest/messages/guest_output.h"
#include "guest/messages/guest_protocol.h"

/* A frame for less would cost short answers more than they do. */
#define WORTH_TELLING (GUEST_ANSWERS_ROOM / 2)

static struct {
    unsigned char bytes[GUEST_ANSWERS_ROOM];
    size_t begin;
    size_t end;
    uint32_t coming; /* of the order under way */
    uint32_t taken;  /* by the program, and not told yet */
    bool is_over;    /* the end of the socket is behind what is in the buffer */
    bool has_socket;
    int socket; /* the guest's end, non-blocking */
} answers;

int tools_open(void)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    if (shutdown(pair[1], SHUT_WR) < 0 || fcntl(pair[0], F_SETFL, O_NONBLOCK) < 0) {
        close_fd(pair[0]);
        close_fd(pair[1]);
        return -1;
    }
    answers.socket = pair[0];
    answers.has_socket = true;
    return pair[1];
}

bool tools_are_open(void)
{
    return answers.has_socket;
}

void tools_drop(void)
{
    if (answers.has_socket)
        close_fd(answers.socket);
    answers.has_socket = false;
}

static size_t waiting(void)
{
    return answers.end - answers.begin;
}

/* The rest of an order that is under way is dropped as it comes, and the backend has that room
 * again. */
void tools_forget(void)
{
    tools_drop();
    answers.taken += (uint32_t)waiting();
    answers.begin = answers.end = 0;
    answers.is_over = false;
}

void tools_take_order(void)
{
    uint32_t length = input_take_number();
    if (length > sizeof(answers.bytes) - waiting())
        _exit(1);
    answers.coming = length;
    answers.is_over |= length == 0;
}

bool tools_are_coming(void)
{
    return answers.coming > 0;
}

void tools_take_more(void)
{
    if (sizeof(answers.bytes) - answers.end < answers.coming) {
        memmove(answers.bytes, answers.bytes + answers.begin, waiting());
        answers.end -= answers.begin;
        answers.begin = 0;
    }
    size_t count = input_take_some(answers.bytes + answers.end, answers.coming);
    answers.end += count;
    answers.coming -= (uint32_t)count;
}

int tools_blocked_socket(void)
{
    return answers.has_socket && waiting() > 0 ? answers.socket : -1;
}

/* The broken pipe of a program that has closed its end is no signal for the first process of a
 * namespace. What comes for such a program is dropped. */
static bool write_some(void)
{
    ssize_t count = answers.has_socket
                        ? write(answers.socket, answers.bytes + answers.begin, waiting())
                        : (ssize_t)waiting();
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (count < 0) {
        tools_drop();
        count = (ssize_t)waiting();
    }
    answers.begin += (size_t)count;
    answers.taken += (uint32_t)count;
    return true;
}

void tools_flush(void)
{
    while (waiting() > 0 && write_some())
        ;
    if (waiting() > 0)
        return;
    answers.begin = answers.end = 0;
    if (answers.is_over && answers.coming == 0)
        tools_drop();
}

void tools_tell_taken(void)
{
    unsigned char bytes[sizeof(uint32_t)];
    struct wire_writer writer = {.bytes = bytes, .capacity = sizeof(bytes), .limit = sizeof(bytes)};
    if (answers.taken < WORTH_TELLING || !output_has_room())
        return;
    wire_put_u32(&writer, answers.taken);
    answers.taken = 0;
    output_put(GUEST_ANSWERS_TAKEN, writer.bytes, writer.length);
}
