/* SPDX-License-Identifier: Apache-2.0 */
/* The way of answers to a guest: orders of bounded length, and no more under way than the guest has
 * room for. The socket is a real one, as the gateway's. One thread. */
#include <check.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backends/guest_runs/container/socket_sender.h"
#include "base/cleanup.h"
#include "guest/messages/guest_protocol.h"
#include "tap_suite.h"

static int gateway;
static struct socket_sender sender;
static unsigned char zeros[GUEST_ANSWERS_LIMIT];

static void open_sender(void)
{
    int pair[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    sender = (struct socket_sender){.order = NULL};
    ck_assert_int_eq(socket_sender_socket(&sender), -1);
    ck_assert(socket_sender_open(&sender, GUEST_ORDER_ANSWERS, pair[1]));
    ck_assert(close(pair[1]) == 0); /* it has a copy */
    gateway = pair[0];
}

static void close_sender(void)
{
    socket_sender_close(&sender);
    socket_sender_close(&sender);
    close_fd(gateway);
}

static void give(const void *bytes, size_t length)
{
    ck_assert_int_eq(write(gateway, bytes, length), (ssize_t)length);
}

static void take_all(void)
{
    while (socket_sender_is_busy(&sender))
        socket_sender_take(&sender, 1);
}

/* How many orders it makes of what it has got. */
static size_t orders(void)
{
    size_t count = 0;
    for (; socket_sender_fill(&sender); count++)
        take_all();
    return count;
}

START_TEST(an_order_has_what_was_there)
{
    open_sender();
    ck_assert(!socket_sender_fill(&sender));
    give("abc", 3);
    ck_assert(socket_sender_fill(&sender));
    struct message_piece rest = socket_sender_rest(&sender);
    ck_assert_uint_eq(rest.length, 8);
    ck_assert_int_eq(memcmp(rest.bytes, "a\3\0\0\0abc", 8), 0);
    give("d", 1);
    ck_assert(!socket_sender_fill(&sender)); /* one is under way */
    ck_assert_int_eq(socket_sender_socket(&sender), -1);
    socket_sender_take(&sender, 6);
    rest = socket_sender_rest(&sender);
    ck_assert_int_eq(memcmp(rest.bytes, "bc", 2), 0);
    take_all();
    ck_assert_int_ge(socket_sender_socket(&sender), 0);
    ck_assert_uint_eq(orders(), 1);
    close_sender();
}
END_TEST

START_TEST(no_more_is_under_way_than_there_is_room_for)
{
    open_sender();
    for (size_t i = 0; i < GUEST_ANSWERS_ROOM / GUEST_ANSWERS_LIMIT; i++) {
        give(zeros, sizeof(zeros));
        ck_assert_uint_eq(orders(), 1);
    }
    give("x", 1);
    ck_assert_uint_eq(orders(), 0);
    ck_assert_int_eq(socket_sender_socket(&sender), -1);
    ck_assert(socket_sender_told(&sender, 1));
    ck_assert_uint_eq(orders(), 1);
    ck_assert_uint_eq(orders(), 0);
    ck_assert(!socket_sender_told(&sender, GUEST_ANSWERS_ROOM + 1));
    ck_assert(socket_sender_told(&sender, GUEST_ANSWERS_ROOM));
    ck_assert(!socket_sender_told(&sender, 1));
    close_sender();
}
END_TEST

START_TEST(the_end_of_the_socket_is_an_order_once)
{
    open_sender();
    give("x", 1);
    close_fd(TAKE_FD(gateway));
    ck_assert(socket_sender_fill(&sender));
    take_all();
    ck_assert(socket_sender_fill(&sender));
    const struct message_piece rest = socket_sender_rest(&sender);
    ck_assert_uint_eq(rest.length, 5);
    ck_assert_int_eq(memcmp(rest.bytes, "a\0\0\0\0", 5), 0);
    take_all();
    ck_assert_uint_eq(orders(), 0);
    ck_assert_int_eq(socket_sender_socket(&sender), -1);
    close_sender();
}
END_TEST

START_TEST(nothing_is_sent_to_a_guest_that_has_gone)
{
    open_sender();
    give("x", 1);
    ck_assert(socket_sender_fill(&sender));
    socket_sender_stop(&sender);
    ck_assert(!socket_sender_is_busy(&sender));
    give("x", 1);
    ck_assert_uint_eq(orders(), 0);
    close_sender();
}
END_TEST

START_TEST(another_cell_has_a_socket_of_its_own)
{
    int pair[2];
    open_sender();
    give("abc", 3);
    ck_assert(socket_sender_fill(&sender));
    socket_sender_take(&sender, 7);
    give("lost", 4);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    ck_assert(socket_sender_open(&sender, GUEST_ORDER_ANSWERS, pair[1]));
    close_fd(pair[1]);
    close_fd(gateway);
    gateway = pair[0];
    struct message_piece rest = socket_sender_rest(&sender);
    ck_assert_uint_eq(rest.length, 1); /* what was under way goes on */
    ck_assert_int_eq(memcmp(rest.bytes, "c", 1), 0);
    take_all();
    give("d", 1);
    ck_assert(socket_sender_fill(&sender));
    rest = socket_sender_rest(&sender);
    ck_assert_int_eq(memcmp(rest.bytes, "a\1\0\0\0d", 6), 0);
    take_all();
    ck_assert(socket_sender_told(&sender, 4)); /* of both */
    socket_sender_end(&sender);
    ck_assert_int_eq(socket_sender_socket(&sender), -1);
    ck_assert_uint_eq(orders(), 0);
    close_sender();
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("answer sender");
    tcase_add_test(cases, an_order_has_what_was_there);
    tcase_add_test(cases, no_more_is_under_way_than_there_is_room_for);
    tcase_add_test(cases, the_end_of_the_socket_is_an_order_once);
    tcase_add_test(cases, nothing_is_sent_to_a_guest_that_has_gone);
    tcase_add_test(cases, another_cell_has_a_socket_of_its_own);
    return run_suite("docker answer sender", &cases, 1);
}
