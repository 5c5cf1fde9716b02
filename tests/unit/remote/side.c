/* SPDX-License-Identifier: Apache-2.0 */
/* Owns one side of a connection of a test: see side.h. */
#include "side.h"

#include <check.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#include "backends/remote/link/remote_frame.h"
#include "base/cleanup.h"
#include "base/deadline.h"
#include "certificates.h"
#include "protocol/run_event.h"
#include "tap_suite.h"

static void on_ready(void *user, struct link *link, const struct remote_hello *peer)
{
    bool *ready = user;
    (void)link, (void)peer;
    *ready = true;
}

static const struct link_handler handler = {.ready = on_ready};

struct link *link_of(struct side *side, bool is_server, int fd)
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

bool turn(struct link **link, struct side *side)
{
    struct pollfd entry = {.fd = *link ? link_fd(*link) : -1, .events = POLLIN};
    (void)poll(&entry, 1, 1);
    if (*link && !link_handle(*link, monotonic_ms() * 1000)) {
        side->error = *link_error(*link);
        link_free(TAKE_POINTER(*link));
    }
    return *link != NULL;
}

void meet(struct side *gateway, struct side *worker)
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

struct side gateway_of(const char *certificate)
{
    return (struct side){
        .authority = "authority", .certificate = certificate, .peer = "worker.test"};
}

struct side worker_of(const char *certificate)
{
    return (struct side){
        .authority = "authority", .certificate = certificate, .peer = "gateway.test"};
}

void says(const struct side *side, const char *words)
{
    HOLDS(!side->ready, "it was let in");
    HOLDS(strstr(side->error.message, words), "%s: not in: %s", words, side->error.message);
    ck_assert_int_eq(side->error.code, ERROR_BACKEND_UNAVAILABLE);
    ck_assert_str_ne(side->error.hint, "");
}

void sides_setup(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    certificates_begin();
    certificates_make_usual();
}
