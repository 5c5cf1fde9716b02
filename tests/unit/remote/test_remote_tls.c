/* SPDX-License-Identifier: Apache-2.0 */
/* Who may connect: real certificates, each of which but one is wrong in one way, and what either
 * side says to it. One thread. */
#include <arpa/inet.h>
#include <check.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/remote/link/link.h"
#include "backends/remote/link/remote_frame.h"
#include "backends/remote/link/tls_private.h"
#include "base/cleanup.h"
#include "base/deadline.h"
#include "certificates.h"
#include "protocol/run_event.h"
#include "tap_suite.h"

#define DAY_S 86400L

struct side {
    const char *authority, *certificate; /* names of files */
    const char *peer;                    /* the name that the other side must have */
    uint32_t protocol_version;           /* 0: this one */
    struct error error;                  /* of the end */
    bool ready;
};

static const struct certificate_wish usual_worker = {"worker.test", USE_SERVER, -60, DAY_S};

static void on_ready(void *user, struct link *link, const struct remote_hello *peer)
{
    bool *ready = user;
    (void)link, (void)peer;
    *ready = true;
}

static const struct link_handler handler = {.ready = on_ready};

static struct link *link_of(struct side *side, bool is_server, int fd)
{
    struct error error;
    struct tls_context *context = context_of(is_server, side->authority, side->certificate, &error);
    HOLDS(context, "%s", error.message);
    const struct link_peer peer = {&side->peer, 1};
    const struct remote_hello hello = {
        .link_version = REMOTE_LINK_VERSION,
        .protocol_version = side->protocol_version ? side->protocol_version : PROTOCOL_VERSION,
        .name = "n"};
    struct link *link = link_new(fd, context, is_server, &peer, &hello, &handler, &side->ready);
    ck_assert_ptr_nonnull(link);
    tls_context_free(context);
    return link;
}

static bool turn(struct link **link, struct side *side)
{
    struct pollfd entry = {.fd = *link ? link_fd(*link) : -1, .events = POLLIN};
    (void)poll(&entry, 1, 1);
    if (*link && !link_handle(*link, monotonic_ms() * 1000)) {
        side->error = *link_error(*link);
        link_free(TAKE_POINTER(*link));
    }
    return *link != NULL;
}

/* Both become ready, or both end. */
static void meet(struct side *gateway, struct side *worker)
{
    int pair[2];
    gateway->ready = worker->ready = false;
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    struct link *client = link_of(gateway, false, pair[0]);
    struct link *server = link_of(worker, true, pair[1]);
    uint64_t limit_ms = monotonic_ms() + 30000;
    while ((client || server) && !(gateway->ready && worker->ready)) {
        ck_assert(monotonic_ms() < limit_ms);
        (void)turn(&client, gateway);
        (void)turn(&server, worker);
    }
    link_free(client);
    link_free(server);
}

static struct side gateway_of(const char *certificate)
{
    return (struct side){
        .authority = "authority", .certificate = certificate, .peer = "worker.test"};
}

static struct side worker_of(const char *certificate)
{
    return (struct side){
        .authority = "authority", .certificate = certificate, .peer = "gateway.test"};
}

static void says(const struct side *side, const char *words)
{
    HOLDS(!side->ready, "it was let in");
    HOLDS(strstr(side->error.message, words), "%s: not in: %s", words, side->error.message);
    ck_assert_int_eq(side->error.code, ERROR_BACKEND_UNAVAILABLE);
    ck_assert_str_ne(side->error.hint, "");
}

START_TEST(both_are_who_they_should_be)
{
    struct side gateway = gateway_of("gateway");
    struct side worker = worker_of("worker");
    meet(&gateway, &worker);
    ck_assert(gateway.ready && worker.ready);
}
END_TEST

START_TEST(names_are_compared_without_case)
{
    struct side gateway = gateway_of("gateway");
    struct side worker = worker_of("worker");
    gateway.peer = "WORKER.test";
    meet(&gateway, &worker);
    ck_assert(gateway.ready && worker.ready);
}
END_TEST

START_TEST(another_name_is_refused)
{
    struct side gateway = gateway_of("gateway");
    struct side worker = worker_of("worker");
    gateway.peer = "another.test";
    meet(&gateway, &worker);
    says(&gateway, "the worker's certificate has other.test, worker.test, and not another.test");
    says(&worker, "the gateway has ended the connection: the worker's certificate has");
    gateway.peer = "worker.test";
    worker.peer = "another.test";
    meet(&gateway, &worker);
    says(&worker, "serves no gateway whose certificate has other.test, gateway.test");
    says(&gateway, "the worker has ended the connection: the worker serves no gateway whose");
    /* Part of a name is none, nor is a name that begins with one. */
    worker.peer = "gateway.test";
    gateway.peer = "worker.test.example";
    meet(&gateway, &worker);
    says(&gateway, "and not worker.test.example");
}
END_TEST

START_TEST(a_certificate_without_a_name_is_refused)
{
    const struct certificate_wish nameless = {NULL, USE_SERVER, -60, DAY_S};
    certificate_make("authority", "nameless", &nameless);
    struct side gateway = gateway_of("gateway");
    struct side worker = worker_of("nameless");
    meet(&gateway, &worker);
    says(&gateway, "has no DNS name, and not worker.test");
}
END_TEST

START_TEST(wildcards_are_no_names)
{
    const struct certificate_wish wild = {"*.test", USE_SERVER, -60, DAY_S};
    certificate_make("authority", "wild", &wild);
    struct side gateway = gateway_of("gateway");
    struct side worker = worker_of("wild");
    meet(&gateway, &worker);
    says(&gateway, "and not worker.test");
}
END_TEST

START_TEST(another_authority_is_refused)
{
    authority_make("stranger");
    certificate_make("stranger", "forged", &usual_worker);
    struct side gateway = gateway_of("gateway");
    struct side worker = worker_of("forged");
    meet(&gateway, &worker);
    says(&gateway, "is not of the authority that is named here");
    says(&worker, "does not know the authority of this side's certificate");
    const struct certificate_wish client = {"gateway.test", USE_CLIENT, -60, DAY_S};
    certificate_make("stranger", "forged-gateway", &client);
    gateway = gateway_of("forged-gateway");
    worker = worker_of("worker");
    meet(&gateway, &worker);
    says(&worker, "is not of the authority that is named here");
    says(&gateway, "does not know the authority of this side's certificate");
}
END_TEST

START_TEST(a_certificate_for_another_use_is_refused)
{
    /* Its owner is not let to use it either; so it pretends. */
    struct error error;
    ck_assert_ptr_null(context_of(false, "authority", "worker", &error));
    ck_assert_ptr_nonnull(strstr(error.message, "does not say that it is a client's"));
    const struct certificate_wish unused = {"worker.test", USE_NOTHING, -60, DAY_S};
    certificate_make("authority", "unused", &unused);
    ck_assert_ptr_null(context_of(true, "authority", "unused", &error));
    ck_assert_ptr_nonnull(strstr(error.message, "does not say that it is a server's"));
}
END_TEST

START_TEST(own_certificates_that_cannot_be_used_are_named)
{
    struct error error;
    const struct certificate_wish old = {"worker.test", USE_SERVER, -2 * DAY_S, -DAY_S};
    const struct certificate_wish early = {"worker.test", USE_SERVER, DAY_S, 2 * DAY_S};
    certificate_make("authority", "old", &old);
    ck_assert_ptr_null(context_of(true, "authority", "old", &error));
    ck_assert_ptr_nonnull(strstr(error.message, "old.pem has expired on 20"));
    certificate_make("authority", "early", &early);
    ck_assert_ptr_null(context_of(true, "authority", "early", &error));
    ck_assert_ptr_nonnull(strstr(error.message, "early.pem is not valid before 20"));
    ck_assert_ptr_null(context_of(true, "authority", "absent", &error));
    ck_assert_ptr_nonnull(strstr(error.message, "absent.pem"));
    ck_assert_ptr_null(context_of(true, "absent", "worker", &error));
    ck_assert_ptr_nonnull(strstr(error.message, "absent.pem"));
    const struct tls_files crossed = {certificate_path("authority", "pem"),
                                      certificate_path("worker", "pem"),
                                      certificate_path("gateway", "key")};
    ck_assert_ptr_null(tls_context_new(true, &crossed, &error));
    ck_assert_ptr_nonnull(strstr(error.message, "does not belong to the certificate"));
    const struct tls_files mixed = {certificate_path("authority", "key"),
                                    certificate_path("worker", "pem"),
                                    certificate_path("worker", "key")};
    ck_assert_ptr_null(tls_context_new(true, &mixed, &error));
    ck_assert_ptr_nonnull(strstr(error.message, "has no certificate"));
}
END_TEST

START_TEST(a_key_that_others_can_read_is_refused)
{
    static const mode_t modes[] = {0640, 0604, 0620, 0602, 0644};
    struct error error;
    certificate_make("authority", "open", &usual_worker);
    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        ck_assert_int_eq(chmod(certificate_path("open", "key"), modes[i]), 0);
        HOLDS(!context_of(true, "authority", "open", &error), "mode %o", modes[i]);
        HOLDS(strstr(error.message, "others") || strstr(error.message, "users"), "%s",
              error.message);
    }
    ck_assert_int_eq(chmod(certificate_path("open", "key"), 0400), 0);
    struct tls_context *context = context_of(true, "authority", "open", &error);
    ck_assert_ptr_nonnull(context);
    tls_context_free(context);
}
END_TEST

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

/* What a stranger that is no link of ours sends, and what the worker says. */
static void stranger_says(const void *bytes, size_t length, bool closes, const char *words)
{
    int pair[2];
    struct side worker = worker_of("worker");
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    struct link *server = link_of(&worker, true, pair[1]);
    ck_assert_int_eq(write(pair[0], bytes, length), (ssize_t)length);
    if (closes)
        close_fd(TAKE_FD(pair[0]));
    while (turn(&server, &worker))
        continue;
    says(&worker, words);
    close_fd(pair[0]);
}

START_TEST(plain_text_is_no_tls)
{
    static const char request[] = "GET / HTTP/1.1\r\nHost: worker\r\n\r\n";
    stranger_says(request, sizeof(request) - 1, false, "does not speak TLS");
    stranger_says("\0\0\0\0\0\0\0\0\0\0\0\0\0", 13, false, "does not speak TLS");
    stranger_says("", 0, true, "the gateway has closed the connection");
    stranger_says("\x16\x03\x01", 3, true, "the gateway has closed the connection");
}
END_TEST

/* A client of OpenSSL's, of one version, with a certificate that a link of ours would not use. */
static void client_says(int version, const char *certificate, const char *words)
{
    int pair[2];
    struct side worker = worker_of("worker");
    char bytes[64];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
    struct link *server = link_of(&worker, true, pair[1]);
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    ck_assert(context && SSL_CTX_set_max_proto_version(context, version) == 1);
    if (certificate)
        ck_assert(SSL_CTX_use_certificate_file(context, certificate_path(certificate, "pem"),
                                               SSL_FILETYPE_PEM) == 1 &&
                  SSL_CTX_use_PrivateKey_file(context, certificate_path(certificate, "key"),
                                              SSL_FILETYPE_PEM) == 1);
    SSL *ssl = SSL_new(context);
    ck_assert(ssl && SSL_set_fd(ssl, pair[0]) == 1);
    uint64_t limit_ms = monotonic_ms() + 30000;
    while (turn(&server, &worker) && monotonic_ms() < limit_ms && !(words == NULL && worker.ready))
        if (SSL_connect(ssl) == 1) {
            unsigned char greeting[REMOTE_HEADER + REMOTE_MESSAGE_LIMIT];
            const struct remote_hello hello = {.link_version = REMOTE_LINK_VERSION,
                                               .protocol_version = PROTOCOL_VERSION};
            size_t length = remote_hello_encode(&hello, greeting + REMOTE_HEADER);
            const struct remote_header header = {(uint32_t)length, REMOTE_HELLO, 0};
            remote_header_put(greeting, &header);
            if (!SSL_get_ex_data(ssl, 0))
                (void)SSL_write(ssl, greeting, (int)(REMOTE_HEADER + length));
            (void)SSL_set_ex_data(ssl, 0, ssl);
            (void)SSL_read(ssl, bytes, sizeof(bytes));
        }
    if (words)
        says(&worker, words);
    else
        ck_assert(worker.ready);
    link_free(server);
    SSL_free(ssl);
    SSL_CTX_free(context);
    close_fd(pair[0]);
}

START_TEST(older_versions_and_clients_without_a_certificate_are_refused)
{
    client_says(TLS1_2_VERSION, "gateway", "does not speak TLS 1.3");
    client_says(TLS1_3_VERSION, NULL, "the other side has no certificate");
    client_says(TLS1_3_VERSION, "gateway", NULL); /* that is what lets it in */
}
END_TEST

START_TEST(certificates_that_are_wrong_are_refused)
{
    const struct certificate_wish old = {"gateway.test", USE_CLIENT, -2 * DAY_S, -DAY_S};
    const struct certificate_wish early = {"gateway.test", USE_CLIENT, DAY_S, 2 * DAY_S};
    const struct certificate_wish server = {"gateway.test", USE_SERVER, -60, DAY_S};
    const struct certificate_wish unused = {"gateway.test", USE_NOTHING, -60, DAY_S};
    certificate_make("authority", "client", &old);
    client_says(TLS1_3_VERSION, "client", "the other side's certificate has expired on 20");
    certificate_make("authority", "client", &early);
    client_says(TLS1_3_VERSION, "client", "the other side's certificate is not valid before 20");
    certificate_make("authority", "client", &server);
    client_says(TLS1_3_VERSION, "client", "is not for that use");
    certificate_make("authority", "client", &unused);
    client_says(TLS1_3_VERSION, "client", "is not for that use");
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

static void setup(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    certificates_begin();
    certificates_make_usual();
}

int main(void)
{
    TCase *tls = tcase_create("tls");
    tcase_add_unchecked_fixture(tls, setup, certificates_remove);
    tcase_add_test(tls, both_are_who_they_should_be);
    tcase_add_test(tls, names_are_compared_without_case);
    tcase_add_test(tls, another_name_is_refused);
    tcase_add_test(tls, a_certificate_without_a_name_is_refused);
    tcase_add_test(tls, wildcards_are_no_names);
    tcase_add_test(tls, another_authority_is_refused);
    tcase_add_test(tls, a_certificate_for_another_use_is_refused);
    tcase_add_test(tls, own_certificates_that_cannot_be_used_are_named);
    tcase_add_test(tls, a_key_that_others_can_read_is_refused);
    tcase_add_test(tls, other_versions_are_said_in_words);
    tcase_add_test(tls, plain_text_is_no_tls);
    tcase_add_test(tls, older_versions_and_clients_without_a_certificate_are_refused);
    tcase_add_test(tls, certificates_that_are_wrong_are_refused);
    tcase_add_test(tls, frames_that_break_the_rules_end_the_connection);
    tcase_add_test(tls, where_nobody_listens_is_no_connection);
    tcase_add_test(tls, a_connection_of_tcp_does_not_wait_for_more_to_send);
    tcase_add_test(tls, a_handshake_has_its_time);
    tcase_add_test(tls, silence_is_the_end);
    return run_suite("remote tls", &tls, 1);
}
