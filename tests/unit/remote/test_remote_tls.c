/* SPDX-License-Identifier: Apache-2.0 */
/* Who may connect: real certificates, each of which but one is wrong in one way, and what either
 * side says to it. One thread. */
#include <check.h>
#include <fcntl.h>
#include <openssl/ssl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/remote/link/link.h"
#include "backends/remote/link/remote_frame.h"
#include "base/cleanup.h"
#include "base/deadline.h"
#include "certificates.h"
#include "protocol/run_event.h"
#include "side.h"
#include "tap_suite.h"

static const struct certificate_wish usual_worker = {"worker.test", USE_SERVER, -60, DAY_S};

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

int main(void)
{
    TCase *tls = tcase_create("tls");
    tcase_add_unchecked_fixture(tls, sides_setup, certificates_remove);
    tcase_add_test(tls, both_are_who_they_should_be);
    tcase_add_test(tls, names_are_compared_without_case);
    tcase_add_test(tls, another_name_is_refused);
    tcase_add_test(tls, a_certificate_without_a_name_is_refused);
    tcase_add_test(tls, wildcards_are_no_names);
    tcase_add_test(tls, another_authority_is_refused);
    tcase_add_test(tls, a_certificate_for_another_use_is_refused);
    tcase_add_test(tls, own_certificates_that_cannot_be_used_are_named);
    tcase_add_test(tls, a_key_that_others_can_read_is_refused);
    tcase_add_test(tls, plain_text_is_no_tls);
    tcase_add_test(tls, older_versions_and_clients_without_a_certificate_are_refused);
    tcase_add_test(tls, certificates_that_are_wrong_are_refused);
    return run_suite("remote tls", &tls, 1);
}
