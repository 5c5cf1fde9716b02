/* SPDX-License-Identifier: Apache-2.0 */
/* connection_relay: two relays back to back, sockets at both ends, and what a stranger at the other
 * end could send. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "guest/channels/connection_relay.h"
#include "tap_suite.h"

#define PIPE_ROOM (2 * RELAY_FRAME_LIMIT)

static struct connection_relay inner; /* accepts */
static struct connection_relay outer; /* opens */
static int given[RELAY_CONNECTIONS];  /* outer's sockets, in the order of their opening */
static size_t given_count;
static bool refuses;

static bool take_socket(void *user, int fd)
{
    ck_assert_ptr_eq(user, given);
    if (refuses) {
        close_fd(fd);
        return false;
    }
    given[given_count++] = fd;
    return true;
}

static void set_up(void)
{
    ck_assert(relay_init(&inner));
    ck_assert(relay_init(&outer));
    outer.opened = take_socket;
    outer.user = given;
    given_count = 0;
    refuses = false;
}

static void tear_down(void)
{
    for (size_t i = 0; i < given_count; i++)
        close_fd(TAKE_FD(given[i]));
    relay_clear(&inner);
    relay_clear(&outer);
}

/* Frames of one to the other; false: there were none. */
static bool pass(struct connection_relay *from, struct connection_relay *to)
{
    static unsigned char bytes[PIPE_ROOM];
    relay_serve(from);
    size_t length = relay_give(from, bytes, sizeof(bytes));
    /* In two parts, so that frames are cut. */
    size_t part = length / 3;
    ck_assert(relay_take(to, bytes, part));
    ck_assert(relay_take(to, bytes + part, length - part));
    return length > 0;
}

static void settle(void)
{
    bool more = true;
    while (more) {
        more = pass(&inner, &outer);
        more |= pass(&outer, &inner);
    }
}

/* A connection of the program's; the program's end. */
static int connect_program(void)
{
    int pair[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
    relay_add(&inner, pair[1]);
    return pair[0];
}

static void expect_text(int fd, const char *text)
{
    char bytes[256] = "";
    ssize_t count = recv(fd, bytes, sizeof(bytes) - 1, MSG_DONTWAIT);
    ck_assert_int_eq(count, (ssize_t)strlen(text));
    ck_assert_str_eq(bytes, text);
}

static void expect_end(int fd)
{
    char byte;
    ck_assert_int_eq(recv(fd, &byte, 1, MSG_DONTWAIT), 0);
}

static void expect_reset(int fd)
{
    char byte;
    ssize_t count = recv(fd, &byte, 1, MSG_DONTWAIT);
    ck_assert(count == 0 || (count < 0 && errno == ECONNRESET));
    ck_assert_int_eq(send(fd, "x", 1, MSG_NOSIGNAL), -1);
}

static size_t places(const struct connection_relay *relay)
{
    size_t count = 0;
    for (size_t i = 0; i < RELAY_CONNECTIONS; i++)
        count += relay->connections[i].fd >= 0 || relay->connections[i].reset_due;
    return count;
}

START_TEST(both_directions_and_ends)
{
    CLEANUP_CLOSE int program = connect_program();
    ck_assert_int_eq(write(program, "GET", 3), 3);
    settle();
    ck_assert_uint_eq(given_count, 1);
    expect_text(given[0], "GET");
    ck_assert_int_eq(write(given[0], "200", 3), 3);
    settle();
    expect_text(program, "200");
    ck_assert_int_eq(shutdown(program, SHUT_WR), 0);
    settle();
    expect_end(given[0]);
    ck_assert_int_eq(write(given[0], "bye", 3), 3);
    close_fd(TAKE_FD(given[0]));
    settle();
    expect_text(program, "bye");
    expect_end(program);
    ck_assert_uint_eq(places(&inner), 0);
    ck_assert_uint_eq(places(&outer), 0);
}
END_TEST

/* What nobody reads stays within the window, and others go on. */
START_TEST(one_that_is_not_read_holds_up_no_other)
{
    static char much[4096];
    CLEANUP_CLOSE int idle = connect_program();
    CLEANUP_CLOSE int busy = connect_program();
    settle();
    size_t written = 0;
    for (ssize_t count = 1; count > 0; settle()) {
        count = send(given[0], much, sizeof(much), MSG_DONTWAIT);
        written += count > 0 ? (size_t)count : 0;
    }
    ck_assert_uint_eq(inner.connections[0].length, RELAY_WINDOW);
    ck_assert_int_eq(write(given[1], "here", 4), 4);
    settle();
    expect_text(busy, "here");
    /* And all of it comes once it is read. */
    size_t taken = 0;
    for (ssize_t count = 1; count > 0;) {
        count = recv(idle, much, sizeof(much), MSG_DONTWAIT);
        taken += count > 0 ? (size_t)count : 0;
        settle();
    }
    ck_assert_uint_eq(taken, written);
}
END_TEST

START_TEST(a_closed_end_is_told)
{
    CLEANUP_CLOSE int program = connect_program();
    settle();
    close_fd(TAKE_FD(given[0]));
    ck_assert_int_eq(write(program, "late", 4), 4);
    settle();
    (void)send(program, "later", 5, MSG_NOSIGNAL);
    settle();
    expect_reset(program);
    ck_assert_uint_eq(places(&inner), 0);
    ck_assert_uint_eq(places(&outer), 0);
}
END_TEST

/* As at the end of a cell. */
START_TEST(all_end_at_once_and_others_may_come)
{
    CLEANUP_CLOSE int first = connect_program();
    CLEANUP_CLOSE int second = connect_program();
    settle();
    ck_assert_int_eq(write(given[0], "lost", 4), 4);
    relay_reset_all(&outer);
    settle();
    expect_reset(first);
    expect_reset(second);
    ck_assert_uint_eq(places(&inner), 0);
    ck_assert_uint_eq(places(&outer), 0);
    CLEANUP_CLOSE int next = connect_program();
    settle();
    ck_assert_uint_eq(given_count, 3);
    ck_assert_int_eq(write(given[2], "here", 4), 4);
    settle();
    expect_text(next, "here");
}
END_TEST

START_TEST(a_refused_connection_is_told)
{
    refuses = true;
    CLEANUP_CLOSE int program = connect_program();
    settle();
    expect_reset(program);
    ck_assert_uint_eq(places(&inner), 0);
}
END_TEST

START_TEST(places_are_limited_and_come_back)
{
    int programs[RELAY_ACCEPTED];
    for (size_t round = 0; round < 5; round++) {
        for (size_t i = 0; i < RELAY_ACCEPTED; i++) {
            ck_assert(relay_has_place(&inner));
            programs[i] = connect_program();
        }
        ck_assert(!relay_has_place(&inner));
        settle();
        ck_assert_uint_eq(given_count, RELAY_ACCEPTED);
        for (size_t i = 0; i < RELAY_ACCEPTED; i++) {
            close_fd(programs[i]);
            close_fd(TAKE_FD(given[i]));
        }
        given_count = 0;
        settle();
        ck_assert_uint_eq(places(&inner), 0);
        ck_assert_uint_eq(places(&outer), 0);
    }
}
END_TEST

/* Frames that the guest never sends. */
static const struct {
    const char *what;
    unsigned char bytes[24];
    size_t length;
} wrong[] = {
    {"kind 0", {0, 0, 0, 0, 0, 1, 0, 0, 0}, 9},
    {"an unknown kind", {0, 0, 0, 0, RELAY_FRAME_END, 1, 0, 0, 0}, 9},
    {"data beyond a frame", {1, 0x40, 0, 0, RELAY_DATA, 1, 0, 0, 0}, 9},
    {"no data", {0, 0, 0, 0, RELAY_DATA, 1, 0, 0, 0}, 9},
    {"an opening with a payload", {1, 0, 0, 0, RELAY_OPEN, 2, 0, 0, 0}, 9},
    {"a number that is there", {0, 0, 0, 0, RELAY_OPEN, 1, 0, 0, 0}, 9},
    {"more taken than was sent", {4, 0, 0, 0, RELAY_TAKEN, 1, 0, 0, 0, 1, 0, 0, 0}, 13},
    {"a short count", {3, 0, 0, 0, RELAY_TAKEN, 1, 0, 0, 0}, 9},
    {"data behind the end",
     {0, 0, 0, 0, RELAY_END, 1, 0, 0, 0, 1, 0, 0, 0, RELAY_DATA, 1, 0, 0, 0, 'x'},
     19},
};

START_TEST(wrong_frames_break_the_relay)
{
    static const unsigned char open[] = {0, 0, 0, 0, RELAY_OPEN, 1, 0, 0, 0};
    static const unsigned char good[] = {1, 0, 0, 0, RELAY_DATA, 1, 0, 0, 0, 'x'};
    ck_assert(relay_take(&outer, open, sizeof(open)));
    ck_assert(relay_take(&outer, good, sizeof(good))); /* the control */
    ck_assert_msg(!relay_take(&outer, wrong[_i].bytes, wrong[_i].length), "%s", wrong[_i].what);
    ck_assert(!relay_take(&outer, good, sizeof(good)));
}
END_TEST

/* A side that sends on without being told that anything was taken. */
START_TEST(more_than_the_window_breaks_the_relay)
{
    static unsigned char frame[RELAY_HEADER + 4096] = {0, 0x10, 0, 0, RELAY_DATA, 1, 0, 0, 0};
    static const unsigned char open[] = {0, 0, 0, 0, RELAY_OPEN, 1, 0, 0, 0};
    ck_assert(relay_take(&outer, open, sizeof(open)));
    size_t sent = 0;
    while (sent < (RELAY_WINDOW * 64) && relay_take(&outer, frame, sizeof(frame)))
        sent += sizeof(frame) - RELAY_HEADER;
    ck_assert_uint_ge(sent, RELAY_WINDOW);
    ck_assert(outer.broken);
}
END_TEST

START_TEST(more_connections_than_places_break_the_relay)
{
    unsigned char open[] = {0, 0, 0, 0, RELAY_OPEN, 0, 0, 0, 0};
    for (size_t i = 0; i < RELAY_CONNECTIONS; i++) {
        open[RELAY_HEADER - 4] = (unsigned char)(i + 1);
        ck_assert(relay_take(&outer, open, sizeof(open)));
    }
    open[RELAY_HEADER - 4] = RELAY_CONNECTIONS + 1;
    ck_assert(!relay_take(&outer, open, sizeof(open)));
}
END_TEST

/* The side that accepts takes no openings. */
START_TEST(only_one_side_opens)
{
    static const unsigned char open[] = {0, 0, 0, 0, RELAY_OPEN, 1, 0, 0, 0};
    ck_assert(!relay_take(&inner, open, sizeof(open)));
}
END_TEST

int main(void)
{
    TCase *parts[] = {tcase_create("relay")};
    tcase_add_checked_fixture(parts[0], set_up, tear_down);
    tcase_add_test(parts[0], both_directions_and_ends);
    tcase_add_test(parts[0], one_that_is_not_read_holds_up_no_other);
    tcase_add_test(parts[0], a_closed_end_is_told);
    tcase_add_test(parts[0], all_end_at_once_and_others_may_come);
    tcase_add_test(parts[0], a_refused_connection_is_told);
    tcase_add_test(parts[0], places_are_limited_and_come_back);
    tcase_add_loop_test(parts[0], wrong_frames_break_the_relay, 0, (int)COUNT_OF(wrong));
    tcase_add_test(parts[0], more_than_the_window_breaks_the_relay);
    tcase_add_test(parts[0], more_connections_than_places_break_the_relay);
    tcase_add_test(parts[0], only_one_side_opens);
    return run_suite("connection_relay", parts, COUNT_OF(parts));
}
