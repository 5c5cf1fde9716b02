/* SPDX-License-Identifier: Apache-2.0 */
/* Connections of a program to its endpoints over a connection to a worker: a listener as process
 * mode hands it out, a stream as docker mode does. The broker's side is the relay that it uses. */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "guest/channels/connection_relay.h"
#include "pair.h"
#include "protocol/orders/egress_order.h"
#include "tap_suite.h"

#define CLIENTS 3

static struct pair pair;
static struct test_run run;
static int *fds;
/* Of the broker's. */
static int stream = -1;
static struct connection_relay broker;
static int accepted[CLIENTS];
static size_t accepted_count;

static void begin(void)
{
    static const struct run_wish wish = {
        .description = "d", .description_length = 1, .endpoints = true};
    char word = 0;
    size_t count = 0;
    pair_open(&pair);
    fds = pair.at_worker.fds[run_begin(&pair, &wish, &run)];
    /* At once, as the broker may be told before the sandbox is there. */
    ck_assert_int_eq(channel_receive_fds_now(run.endpoints, &word, 1, &stream, 1, &count), 1);
    ck_assert(word == EGRESS_INTAKE_RELAY && count == 1);
    ck_assert_int_eq(fcntl(stream, F_SETFL, O_NONBLOCK), 0);
}

static void end(void)
{
    close_all(fds, RUN_FD_COUNT);
    run_close(&run);
    PAIR_UNTIL(&pair, pair.at_gateway.ends == 1 && pair.at_worker.ends == 1);
    close_fd(TAKE_FD(stream));
    pair_close(&pair);
}

static bool opened(void *user, int fd)
{
    (void)user;
    if (accepted_count == CLIENTS)
        return false;
    accepted[accepted_count++] = fd;
    return true;
}

/* Both links, and the broker between its stream and its connections. */
static void turn(void)
{
    unsigned char bytes[RELAY_FRAME_LIMIT];
    ssize_t count;
    pair_turn(&pair, 1);
    while ((count = read(stream, bytes, sizeof(bytes))) > 0)
        ck_assert(relay_take(&broker, bytes, (size_t)count));
    relay_serve(&broker);
    size_t length;
    while ((length = relay_give(&broker, bytes, sizeof(bytes))) > 0)
        for (size_t at = 0; at < length;) {
            ssize_t written = write(stream, bytes + at, length - at);
            if (written > 0)
                at += (size_t)written;
            else
                pair_turn(&pair, 1);
        }
}

#define UNTIL(condition)                                             \
    do {                                                             \
        uint64_t limit_ms_ = monotonic_ms() + 60000;                 \
        while (!(condition)) {                                       \
            HOLDS(monotonic_ms() < limit_ms_, "never: " #condition); \
            turn();                                                  \
        }                                                            \
    } while (0)

static int make_listener(struct sockaddr_in *ret)
{
    socklen_t length = sizeof(*ret);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    *ret =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    ck_assert_int_ge(listener, 0);
    ck_assert(bind(listener, (const void *)ret, sizeof(*ret)) == 0 && listen(listener, 8) == 0 &&
              getsockname(listener, (void *)ret, &length) == 0);
    return listener;
}

static int connect_to(const struct sockaddr_in *address)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert(fd >= 0 && connect(fd, (const void *)address, sizeof(*address)) == 0);
    ck_assert_int_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    return fd;
}

static ssize_t receive(int fd, void *bytes, size_t capacity)
{
    return recv(fd, bytes, capacity, MSG_DONTWAIT);
}

START_TEST(a_listener_of_the_sandbox_is_served)
{
    const char word = EGRESS_INTAKE_LISTENER;
    struct sockaddr_in address;
    int clients[CLIENTS];
    char bytes[64];
    begin();
    ck_assert(relay_init(&broker));
    broker.opened = opened;
    accepted_count = 0;
    CLEANUP_CLOSE int listener = make_listener(&address);
    ck_assert_int_eq(channel_send(fds[RUN_FD_ENDPOINTS], &word, 1, &listener, 1), 0);
    for (size_t i = 0; i < CLIENTS; i++)
        clients[i] = connect_to(&address);
    UNTIL(accepted_count == CLIENTS);
    for (size_t i = 0; i < CLIENTS; i++) {
        (void)snprintf(bytes, sizeof(bytes), "request %zu", i);
        ck_assert_int_eq(send(clients[i], bytes, 9, 0), 9);
        UNTIL(receive(accepted[i], bytes, sizeof(bytes)) == 9);
        ck_assert_int_eq(bytes[8], '0' + (char)i);
        ck_assert_int_eq(send(accepted[i], "answer", 6, 0), 6);
        UNTIL(receive(clients[i], bytes, sizeof(bytes)) == 6);
    }
    /* Much in one direction, and its end. */
    size_t sent = 0;
    size_t received = 0;
    static char block[65536];
    ck_assert_int_eq(fcntl(accepted[0], F_SETFL, O_NONBLOCK), 0);
    while (received < 20 * sizeof(block)) {
        ssize_t count = sent < 20 * sizeof(block) ? write(accepted[0], block, sizeof(block)) : 0;
        sent += count > 0 ? (size_t)count : 0;
        turn();
        while ((count = receive(clients[0], block, sizeof(block))) > 0)
            received += (size_t)count;
    }
    ck_assert_uint_eq(sent, received);
    close_fd(accepted[0]);
    UNTIL(receive(clients[0], bytes, sizeof(bytes)) == 0);
    close_fd(clients[1]);
    UNTIL(receive(accepted[1], bytes, sizeof(bytes)) == 0);
    /* With the run's events goes the listener: none of this process holds it up any more. */
    close_fd(TAKE_FD(fds[RUN_FD_EVENTS]));
    close_fd(TAKE_FD(listener));
    UNTIL(receive(clients[2], bytes, sizeof(bytes)) == 0 || errno == ECONNRESET);
    int late = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert(connect(late, (const void *)&address, sizeof(address)) < 0);
    ck_assert_int_eq(errno, ECONNREFUSED);
    close_fd(late);
    close_fd(clients[0]);
    close_fd(clients[2]);
    close_fd(accepted[1]);
    close_fd(accepted[2]);
    relay_clear(&broker);
    end();
}
END_TEST

START_TEST(a_stream_of_a_container_is_passed_on)
{
    const char word = EGRESS_INTAKE_RELAY;
    char bytes[64];
    int ends[2];
    begin();
    /* What the broker says before there is a sandbox waits. */
    ck_assert_int_eq(write(stream, "early", 5), 5);
    for (int i = 0; i < 10; i++)
        pair_turn(&pair, 1);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    ck_assert_int_eq(channel_send(fds[RUN_FD_ENDPOINTS], &word, 1, &ends[1], 1), 0);
    close_fd(ends[1]);
    PAIR_UNTIL(&pair, receive(ends[0], bytes, sizeof(bytes)) == 5);
    ck_assert_int_eq(write(ends[0], "frames", 6), 6);
    PAIR_UNTIL(&pair, read(stream, bytes, sizeof(bytes)) == 6);
    ck_assert_int_eq(write(stream, "back", 4), 4);
    PAIR_UNTIL(&pair, receive(ends[0], bytes, sizeof(bytes)) == 4);
    close_fd(TAKE_FD(stream));
    PAIR_UNTIL(&pair, receive(ends[0], bytes, sizeof(bytes)) == 0);
    close_fd(ends[0]);
    end();
}
END_TEST

START_TEST(a_run_without_a_listener_ends_the_stream)
{
    char byte;
    begin();
    close_fd(TAKE_FD(fds[RUN_FD_ENDPOINTS]));
    PAIR_UNTIL(&pair, read(stream, &byte, 1) == 0);
    end();
}
END_TEST

START_TEST(what_is_no_listener_is_not_served)
{
    const char word = EGRESS_INTAKE_LISTENER;
    char byte;
    begin();
    int file = open("/dev/null", O_RDWR | O_CLOEXEC);
    ck_assert_int_eq(channel_send(fds[RUN_FD_ENDPOINTS], &word, 1, &file, 1), 0);
    PAIR_UNTIL(&pair, read(stream, &byte, 1) == 0);
    close_fd(file);
    end();
}
END_TEST

int main(void)
{
    TCase *endpoints = tcase_create("endpoints");
    tcase_add_unchecked_fixture(endpoints, pair_setup, pair_teardown);
    tcase_add_test(endpoints, a_listener_of_the_sandbox_is_served);
    tcase_add_test(endpoints, a_stream_of_a_container_is_passed_on);
    tcase_add_test(endpoints, a_run_without_a_listener_ends_the_stream);
    tcase_add_test(endpoints, what_is_no_listener_is_not_served);
    return run_suite("remote endpoints", &endpoints, 1);
}
