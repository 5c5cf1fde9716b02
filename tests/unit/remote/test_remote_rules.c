/* SPDX-License-Identifier: Apache-2.0 */
/* What ends a connection beside certificates: versions, frames that break the rules, time. One
 * thread. */
#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backends/remote/link/remote_frame.h"
#include "backends/remote/link/tls_private.h"
#include "base/cleanup.h"
#include "base/deadline.h"
#include "certificates.h"
#include "protocol/run_event.h"
#include "side.h"
#include "tap_suite.h"

START_TEST(other_versions_are_said_in_words)
{
    struct side gateway = gateway_of("gateway");
    struct side worker = worker_of("worker");
    worker.protocol_version = 4;
    meet(&gateway, &worker);
    char words[128];
    (void)snprintf(words, sizeof(words),
                   "the gateway speaks version %d.%d, and the worker speaks %d.4",
                   REMOTE_LINK_VERSION, PROTOCOL_VERSION, REMOTE_LINK_VERSION);
    says(&gateway, words);
    says(&worker, words);
}
END_TEST

/* A frame behind the greeting of a gateway that is let in. */
static void frame_is_refused(const struct remote_header *frame, const char *words)
{
    int pair[2];
    struct side gateway = gateway_of("gateway");
    struct side worker = worker_of("worker");
    unsigned char bytes[2 * REMOTE_HEADER + REMOTE_MESSAGE_LIMIT + 64] = {0};
    const struct remote_hello hello = {.link_version = REMOTE_LINK_VERSION,
                                       .protocol_version = PROTOCOL_VERSION};
    struct error error;
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
    struct link *server = link_of(&worker, true, pair[1]);
    struct tls_context *context = context_of(false, gateway.authority, gateway.certificate, &error);
    ck_assert_ptr_nonnull(context);
    SSL *ssl = SSL_new(context->ssl);
    ck_assert(ssl && SSL_set_fd(ssl, pair[0]) == 1);
    size_t length = remote_hello_encode(&hello, bytes + REMOTE_HEADER);
    const struct remote_header greeting = {(uint32_t)length, REMOTE_HELLO, 0};
    remote_header_put(bytes, &greeting);
    remote_header_put(bytes + REMOTE_HEADER + length, frame);
    length += 2 * REMOTE_HEADER + (frame->length < 64 ? frame->length : 0);
    while (SSL_connect(ssl) != 1)
        ck_assert(turn(&server, &worker));
    ck_assert_int_eq(SSL_write(ssl, bytes, (int)length), (int)length);
    while (turn(&server, &worker))
        continue;
    ck_assert(worker.ready);
    ck_assert_str_eq(worker.error.message, words);
    ck_assert_int_eq(worker.error.code, ERROR_BACKEND_FAILED);
    SSL_free(ssl);
    tls_context_free(context);
    close_fd(pair[0]);
}

START_TEST(frames_that_break_the_rules_end_the_connection)
{
    static const struct {
        struct remote_header frame;
        const char *words;
    } wrong[] = {
        {{1, REMOTE_DATA, 5}, "a frame for a channel that is not there"},
        {{3, REMOTE_DATAGRAM, 5}, "a frame for a channel that is not there"},
        {{0, REMOTE_RESET, 1}, "a frame for a channel that is not there"},
        {{20, REMOTE_ANSWER, 1}, "an answer that cannot be"},
        {{16, REMOTE_CAPACITY, 0}, "a capacity that is none"},
        {{0, REMOTE_DRAIN, 0}, "a gateway that drains"},
        {{8, REMOTE_OFFER, 1}, "an offer that cannot be"},
        {{1, REMOTE_HELLO, 0}, "a greeting that is out of turn"},
        {{0, REMOTE_KIND_END, 0}, "a frame that is none"},
        {{REMOTE_PAYLOAD_LIMIT + 1, REMOTE_DATA, 1}, "a frame that is none"},
        {{0, REMOTE_PING, 3}, "a frame that is none"},
        {{3, REMOTE_BYE, 0}, "the gateway has ended the connection: ???"},
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        frame_is_refused(&wrong[i].frame, wrong[i].words);
}
END_TEST

/* A socket of TCP that is still connecting, to a port that nobody has any more. */
START_TEST(where_nobody_listens_is_no_connection)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof(address);
    struct side gateway = gateway_of("gateway");
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert(bind(listener, (const void *)&address, sizeof(address)) == 0 &&
              getsockname(listener, (void *)&address, &length) == 0);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    (void)connect(fd, (const void *)&address, sizeof(address));
    struct link *client = link_of(&gateway, false, fd);
    while (turn(&client, &gateway))
        continue;
    says(&gateway, "cannot connect: Connection refused");
    close_fd(listener);
}
END_TEST

START_TEST(a_connection_of_tcp_does_not_wait_for_more_to_send)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof(address);
    int is_set = 0;
    struct side gateway = gateway_of("gateway");
    struct side worker = worker_of("worker");
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert(bind(listener, (const void *)&address, sizeof(address)) == 0 &&
              listen(listener, 1) == 0 && getsockname(listener, (void *)&address, &length) == 0);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    (void)connect(fd, (const void *)&address, sizeof(address));
    struct link *client = link_of(&gateway, false, fd);
    length = sizeof(is_set);
    ck_assert(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &is_set, &length) == 0 && is_set);
    struct link *server = link_of(&worker, true, accept4(listener, NULL, NULL, SOCK_CLOEXEC));
    while (!gateway.ready || !worker.ready)
        ck_assert(turn(&client, &gateway) && turn(&server, &worker));
    link_free(client);
    link_free(server);
    close_fd(listener);
}
END_TEST

START_TEST(a_handshake_has_its_time)
{
    int pair[2];
    struct side worker = worker_of("worker");
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    struct link *server = link_of(&worker, true, pair[1]);
    uint64_t due_us = link_deadline_us(server);
    ck_assert_uint_gt(due_us, monotonic_ms() * 1000);
    ck_assert_int_eq(write(pair[0], "\x16\x03\x01\x02", 4), 4);
    ck_assert(link_handle(server, due_us - 1));
    ck_assert(!link_handle(server, due_us));
    worker.error = *link_error(server);
    says(&worker, "has not ended the TLS handshake within 10 s");
    link_free(server);
    close_fd(pair[0]);
}
END_TEST

/* With times that the test makes: a side that is silent is asked, and then given up. */
START_TEST(silence_is_the_end)
{
    int pair[2];
    struct side gateway = gateway_of("gateway");
    struct side worker = worker_of("worker");
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    struct link *client = link_of(&gateway, false, pair[0]);
    struct link *server = link_of(&worker, true, pair[1]);
    while (!gateway.ready || !worker.ready)
        ck_assert(turn(&client, &gateway) && turn(&server, &worker));
    uint64_t due_us = link_deadline_us(server);
    ck_assert(link_handle(server, due_us)); /* asks */
    ck_assert_uint_eq(link_deadline_us(server), due_us + 10000000);
    ck_assert(link_handle(client, due_us)); /* answers */
    ck_assert(link_handle(server, due_us + 1));
    ck_assert_uint_eq(link_deadline_us(server), due_us + 1 + 5000000);
    ck_assert(link_handle(server, due_us + 14000000));
    ck_assert(!link_handle(server, due_us + 1 + 15000000));
    ck_assert_ptr_nonnull(strstr(link_error(server)->message, "has been silent for 15 s"));
    ck_assert_int_eq(link_error(server)->code, ERROR_BACKEND_FAILED);
    link_free(client);
    link_free(server);
}
END_TEST

int main(void)
{
    TCase *rules = tcase_create("rules");
    tcase_add_unchecked_fixture(rules, sides_setup, certificates_remove);
    tcase_add_test(rules, other_versions_are_said_in_words);
    tcase_add_test(rules, frames_that_break_the_rules_end_the_connection);
    tcase_add_test(rules, where_nobody_listens_is_no_connection);
    tcase_add_test(rules, a_connection_of_tcp_does_not_wait_for_more_to_send);
    tcase_add_test(rules, a_handshake_has_its_time);
    tcase_add_test(rules, silence_is_the_end);
    return run_suite("remote rules", &rules, 1);
}
