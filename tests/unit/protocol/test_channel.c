/* SPDX-License-Identifier: Apache-2.0 */
/* The sockets between plugin, backends and sandboxes: what they carry, and what their end hides. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "protocol/channel.h"
#include "tap_suite.h"

static int open_descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

START_TEST(descriptors_travel)
{
    int pair[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    int sent[3] = {0, 1, 2};
    int received[3];
    size_t count = 0;
    char byte = 0;
    ck_assert_int_eq(channel_send(pair[0], "r", 1, sent, 3), 0);
    ck_assert_int_eq(channel_receive(pair[1], &byte, 1, received, 3, &count), 1);
    ck_assert_int_eq(byte, 'r');
    ck_assert_uint_eq(count, 3);
    for (size_t i = 0; i < count; i++) {
        ck_assert_int_eq(fcntl(received[i], F_GETFD), FD_CLOEXEC);
        close_fd(received[i]);
    }
    int before = open_descriptors();
    ck_assert_int_eq(channel_send(pair[0], "r", 1, sent, 3), 0);
    ck_assert_int_eq(channel_receive(pair[1], &byte, 1, received, 2, &count), -1);
    ck_assert_int_eq(errno, EMSGSIZE);
    ck_assert_int_eq(channel_send(pair[0], "longer", 6, sent, 3), 0);
    ck_assert_int_eq(channel_receive(pair[1], &byte, 1, received, 3, &count), -1);
    ck_assert_int_eq(errno, EMSGSIZE);
    ck_assert_int_eq(open_descriptors(), before);
    close_fd(pair[0]);
    ck_assert_int_eq(channel_receive(pair[1], &byte, 1, received, 3, &count), 0);
    ck_assert_int_eq(channel_send(pair[1], "r", 1, NULL, 0), -1);
    ck_assert_int_eq(errno, EPIPE);
    close_fd(pair[1]);
}
END_TEST

/* What the peer thread is to send its last word on; -1: nothing yet. */
static _Atomic int leaving_end;
static atomic_bool is_over;

static void *send_last_words(void *user)
{
    (void)user;
    while (!atomic_load(&is_over)) {
        int end = atomic_exchange(&leaving_end, -1);
        if (end < 0) {
            (void)sched_yield(); /* or a busy machine gives each side its whole slice, in turn */
            continue;
        }
        (void)channel_send(end, "l", 1, NULL, 0);
        close_fd(end);
    }
    return NULL;
}

static ssize_t receive_now(int socket, char *byte)
{
    return channel_receive_now(socket, byte, 1);
}

static ssize_t receive(int socket, char *byte)
{
    size_t count;
    return channel_receive(socket, byte, 1, NULL, 0, &count);
}

/* Of 100,000 such ends a kernel tells 20 in front of the last word, on two processors. */
#define LAST_WORDS 100000

static void expect_last_words(ssize_t (*take)(int socket, char *byte))
{
    pthread_t peer;
    atomic_store(&leaving_end, -1);
    atomic_store(&is_over, false);
    ck_assert_int_eq(pthread_create(&peer, NULL, send_last_words, NULL), 0);
    for (int i = 0; i < LAST_WORDS; i++) {
        int pair[2];
        char byte = 0;
        ssize_t length;
        ck_assert_int_eq(
            socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
        atomic_store(&leaving_end, pair[1]);
        while ((length = take(pair[0], &byte)) < 0 && errno == EAGAIN)
            (void)sched_yield();
        ck_assert_int_eq(length, 1);
        ck_assert_int_eq(byte, 'l');
        close_fd(pair[0]);
    }
    atomic_store(&is_over, true);
    ck_assert_int_eq(pthread_join(peer, NULL), 0);
}

START_TEST(last_word_is_not_lost)
{
    expect_last_words(receive_now);
    expect_last_words(receive);
}
END_TEST

static void expect_words_behind_reset(ssize_t (*take)(int socket, char *byte))
{
    int pair[2];
    char byte = 0;
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    ck_assert_int_eq(channel_send(pair[0], "o", 1, NULL, 0), 0); /* an order that comes too late */
    ck_assert_int_eq(channel_send(pair[1], "s", 1, NULL, 0), 0);
    ck_assert_int_eq(channel_send(pair[1], "e", 1, NULL, 0), 0);
    close_fd(pair[1]);
    ck_assert_int_eq(take(pair[0], &byte), 1);
    ck_assert_int_eq(byte, 's');
    ck_assert_int_eq(take(pair[0], &byte), 1);
    ck_assert_int_eq(byte, 'e');
    ck_assert_int_eq(take(pair[0], &byte), 0);
    close_fd(pair[0]);
}

START_TEST(words_of_a_peer_that_ends_with_an_order_unread)
{
    expect_words_behind_reset(receive_now);
    expect_words_behind_reset(receive);
}
END_TEST

START_TEST(nothing_there_is_no_end)
{
    int pair[2];
    char byte;
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    ck_assert_int_eq(channel_receive_now(pair[0], &byte, 1), -1);
    ck_assert_int_eq(errno, EAGAIN);
    ck_assert_int_eq(channel_send(pair[1], "longer", 6, NULL, 0), 0);
    ck_assert_int_eq(channel_receive_now(pair[0], &byte, 1), -1);
    ck_assert_int_eq(errno, EMSGSIZE);
    /* An empty datagram is no word of ours; who sends one has ended as far as we are concerned. */
    ck_assert_int_eq(channel_send(pair[1], "", 0, NULL, 0), 0);
    ck_assert_int_eq(channel_receive_now(pair[0], &byte, 1), 0);
    close_fd(pair[1]);
    ck_assert_int_eq(channel_receive_now(pair[0], &byte, 1), 0);
    close_fd(pair[0]);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("channel");
    tcase_set_timeout(cases, 200);
    tcase_add_test(cases, descriptors_travel);
    tcase_add_test(cases, last_word_is_not_lost);
    tcase_add_test(cases, words_of_a_peer_that_ends_with_an_order_unread);
    tcase_add_test(cases, nothing_there_is_no_end);
    return run_suite("channel", &cases, 1);
}
