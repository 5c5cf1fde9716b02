/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the daemon of libmicrohttpd and its connections: see server.h. Runs in the broker. */
#include "backends/egress/server/server.h"

#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "backends/egress/server/exchange.h"
#include "base/cleanup.h"
#include "base/deadline.h"

#define HEAD_MS           15000 /* for the head of a request, and between two of them */
#define LOOK_MS           1000
#define CONNECTION_MEMORY (32u << 10)

/* A connection, while libmicrohttpd has it. */
struct client {
    int fd; /* borrowed */
    bool busy;
    uint64_t idle_since_ms;
    struct client *next;
    struct client *previous;
};

struct server {
    struct event_loop *loop;
    struct exchange_context context;
    struct MHD_Daemon *daemon;
    struct watch watch; /* libmicrohttpd's own epoll descriptor */
    struct timer look;
    bool work; /* libmicrohttpd has something to do */
    struct client *clients;
    size_t client_count;
    struct exchange *exchanges;
};

static void on_ready(struct watch *watch, uint32_t events)
{
    (void)events;
    CONTAINER_OF(watch, struct server, watch)->work = true;
}

/* Ends those that have sent no whole head for too long. */
static void on_look(struct timer *timer)
{
    struct server *server = CONTAINER_OF(timer, struct server, look);
    uint64_t now = monotonic_ms();
    for (struct client *client = server->clients; client; client = client->next)
        if (!client->busy && now - client->idle_since_ms > HEAD_MS) {
            (void)shutdown(client->fd, SHUT_RDWR);
            server->work = true;
        }
    if (server->clients)
        event_loop_after(server->loop, timer, LOOK_MS);
}

static void begin_client(struct server *server, struct MHD_Connection *connection, void **place)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct client *client = calloc(1, sizeof(*client));
    if (!client) {
        (void)shutdown(info->connect_fd, SHUT_RDWR);
        return;
    }
    *client = (struct client){
        .fd = info->connect_fd, .idle_since_ms = monotonic_ms(), .next = server->clients};
    if (server->clients)
        server->clients->previous = client;
    server->clients = client;
    *place = client;
    server->client_count++;
    if (server->look.due_ms == 0)
        event_loop_after(server->loop, &server->look, LOOK_MS);
}

static void end_client(struct server *server, struct client *client)
{
    if (!client)
        return;
    if (client->previous)
        client->previous->next = client->next;
    else
        server->clients = client->next;
    if (client->next)
        client->next->previous = client->previous;
    server->client_count--;
    free(client);
}

static void on_connection(void *user, struct MHD_Connection *connection, void **place,
                          enum MHD_ConnectionNotificationCode code)
{
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        begin_client(user, connection, place);
    else
        end_client(user, TAKE_POINTER(*place));
}

static struct client *client_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

/* The request line is there: the target as it was sent, of which libmicrohttpd changes nothing. */
static void *on_target(void *user, const char *target, struct MHD_Connection *connection)
{
    struct server *server = user;
    struct exchange *exchange = exchange_new(&server->context, connection, target);
    if (!exchange)
        return NULL;
    exchange->next = server->exchanges;
    if (server->exchanges)
        server->exchanges->previous = exchange;
    server->exchanges = exchange;
    return exchange;
}

static enum MHD_Result on_request(void *user, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *bytes,
                                  size_t *length, void **place)
{
    (void)user;
    (void)url;
    struct client *client = client_of(connection);
    if (!client || !*place)
        return MHD_NO;
    client->busy = true;
    return exchange_handle(*place, method, version, bytes, length);
}

static void on_completed(void *user, struct MHD_Connection *connection, void **place,
                         enum MHD_RequestTerminationCode code)
{
    struct server *server = user;
    struct client *client = client_of(connection);
    struct exchange *exchange = TAKE_POINTER(*place);
    if (client) {
        client->busy = false;
        client->idle_since_ms = monotonic_ms();
    }
    if (!exchange)
        return;
    if (exchange->previous)
        exchange->previous->next = exchange->next;
    else
        server->exchanges = exchange->next;
    if (exchange->next)
        exchange->next->previous = exchange->previous;
    exchange->broken |= code != MHD_REQUEST_TERMINATED_COMPLETED_OK;
    exchange_free(exchange);
}

/* Paths are decoded by us, or not at all. */
static size_t leave_as_is(void *user, struct MHD_Connection *connection, char *text)
{
    (void)user;
    (void)connection;
    return strlen(text);
}

static bool start_daemon(struct server *server)
{
    server->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME |
            MHD_USE_SUPPRESS_DATE_NO_CLOCK,
        0, NULL, NULL, on_request, server, MHD_OPTION_CONNECTION_LIMIT, SERVER_CONNECTIONS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
        MHD_OPTION_CONNECTION_TIMEOUT, 0U, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, server, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, server, MHD_OPTION_URI_LOG_CALLBACK, on_target, server,
        MHD_OPTION_UNESCAPE_CALLBACK, leave_as_is, server, MHD_OPTION_END);
    if (!server->daemon)
        return false;
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    server->watch.fd = info ? info->epoll_fd : -1;
    return info && event_loop_watch(server->loop, &server->watch, EPOLLIN) == 0;
}

struct server *server_new(struct event_loop *loop, struct endpoints *endpoints,
                          struct records *records, bool ends_connections)
{
    struct server *server = calloc(1, sizeof(*server));
    if (!server)
        return NULL;
    *server = (struct server){
        .loop = loop,
        .context = {loop, endpoints, records, &server->work, ends_connections},
        .watch = {-1, on_ready},
        .look = {.fire = on_look},
    };
    if (start_daemon(server))
        return server;
    server_free(server);
    return NULL;
}

bool server_adopt(struct server *server, int connection)
{
    struct sockaddr_storage peer = {.ss_family = AF_UNSPEC};
    socklen_t length = sizeof(peer);
    if (getpeername(connection, (struct sockaddr *)&peer, &length) < 0) {
        close_fd(connection);
        return false;
    }
    server->work = true;
    return MHD_add_connection(server->daemon, connection, (struct sockaddr *)&peer, length) ==
           MHD_YES;
}

size_t server_connection_count(const struct server *server)
{
    return server->client_count;
}

static bool run_daemon(struct server *server)
{
    MHD_UNSIGNED_LONG_LONG left;
    if (!server->work)
        return false;
    (void)MHD_run(server->daemon);
    server->work = MHD_get_timeout(server->daemon, &left) == MHD_YES && left == 0;
    return true;
}

bool server_settle(struct server *server)
{
    bool done = run_daemon(server);
    for (struct exchange *exchange = server->exchanges; exchange; exchange = exchange->next)
        done |= exchange_settle(exchange);
    return done;
}

void server_free(struct server *server)
{
    if (!server)
        return;
    for (struct exchange *exchange = server->exchanges; exchange; exchange = exchange->next) {
        exchange->broken = true;
        exchange_resume(exchange);
    }
    event_loop_unwatch(server->loop, &server->watch);
    if (server->daemon)
        MHD_stop_daemon(server->daemon);
    event_loop_cancel(server->loop, &server->look);
    free(server);
}
