/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the HTTP server of health and metrics: see status.h. libmicrohttpd has no thread here. */
#include "backends/worker/status.h"

#include <microhttpd.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "backends/worker/address.h"
#include "backends/worker/journal.h"
#include "base/cleanup.h"

#define CONNECTIONS        16U
#define CONNECTION_MEMORY  8192
#define CONNECTION_SECONDS 10U /* without a byte */
#define SETTLE_ROUNDS      16

struct status_server {
    struct event_loop *loop;
    const struct status_source *source;
    struct MHD_Daemon *daemon;
    struct watch watch;
    struct timer time;
};

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned code, const char *type,
                              const char *text)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer_with_free_callback(strlen(text), strdup(text), free);
    if (!response)
        return MHD_NO;
    (void)MHD_add_response_header(response, "Content-Type", type);
    (void)MHD_add_response_header(response, "Cache-Control", "no-store");
    if (code == MHD_HTTP_METHOD_NOT_ALLOWED)
        (void)MHD_add_response_header(response, "Allow", "GET, HEAD");
    enum MHD_Result result = MHD_queue_response(connection, code, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result answer_ready(const struct status_source *source,
                                    struct MHD_Connection *connection)
{
    char text[1200] = "ready\n";
    const char *obstacle = source->obstacle(source->user);
    if (obstacle)
        (void)snprintf(text, sizeof(text), "%s\n", obstacle);
    return answer(connection, obstacle ? MHD_HTTP_SERVICE_UNAVAILABLE : MHD_HTTP_OK, "text/plain",
                  text);
}

static enum MHD_Result answer_metrics(const struct status_source *source,
                                      struct MHD_Connection *connection)
{
    CLEANUP_FREE char *text = source->metrics(source->user);
    return text ? answer(connection, MHD_HTTP_OK, "text/plain; version=0.0.4", text) : MHD_NO;
}

static enum MHD_Result on_request(void *user, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *bytes,
                                  size_t *length, void **place)
{
    const struct status_server *server = user;
    (void)version;
    (void)bytes;
    (void)place;
    if (*length > 0) { /* of a body, which is not read */
        *length = 0;
        return MHD_YES;
    }
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return answer(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "text/plain", "only GET\n");
    if (strcmp(url, "/live") == 0)
        return answer(connection, MHD_HTTP_OK, "text/plain", "live\n");
    if (strcmp(url, "/ready") == 0)
        return answer_ready(server->source, connection);
    if (strcmp(url, "/metrics") == 0)
        return answer_metrics(server->source, connection);
    return answer(connection, MHD_HTTP_NOT_FOUND, "text/plain",
                  "there are /live, /ready and /metrics\n");
}

/* Its time-outs are its own to tell. */
static void run(struct status_server *server)
{
    MHD_UNSIGNED_LONG_LONG left = 0;
    for (int round = 0; round < SETTLE_ROUNDS; round++) {
        (void)MHD_run(server->daemon);
        if (MHD_get_timeout(server->daemon, &left) != MHD_YES) {
            event_loop_cancel(server->loop, &server->time);
            return;
        }
        if (left > 0)
            break;
    }
    event_loop_after(server->loop, &server->time, left);
}

static void on_ready(struct watch *watch, uint32_t events)
{
    (void)events;
    run(CONTAINER_OF(watch, struct status_server, watch));
}

static void on_time(struct timer *timer)
{
    run(CONTAINER_OF(timer, struct status_server, time));
}

/* The listener is the daemon's from then on. */
static bool start(struct status_server *server, int listener)
{
    server->daemon =
        MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_SUPPRESS_DATE_NO_CLOCK, 0, NULL, NULL, on_request,
                         server, MHD_OPTION_LISTEN_SOCKET, listener, MHD_OPTION_CONNECTION_LIMIT,
                         CONNECTIONS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
                         MHD_OPTION_CONNECTION_TIMEOUT, CONNECTION_SECONDS,
                         MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    if (!server->daemon)
        return false;
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    server->watch.fd = info ? info->epoll_fd : -1;
    return info && event_loop_watch(server->loop, &server->watch, EPOLLIN) == 0;
}

struct status_server *status_server_new(struct event_loop *loop, const char *address,
                                        const struct status_source *source, struct error *error)
{
    char bound[64];
    CLEANUP_CLOSE int listener = listen_address_open(address, error);
    if (listener < 0)
        return NULL;
    struct status_server *server = calloc(1, sizeof(*server));
    if (!server) {
        error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the server of health and metrics");
        return NULL;
    }
    *server = (struct status_server){
        .loop = loop,
        .source = source,
        .watch = {-1, on_ready},
        .time = {.fire = on_time},
    };
    listening_address_write(listener, bound, sizeof(bound));
    bool started = start(server, listener);
    if (server->daemon)
        (void)TAKE_FD(listener);
    if (started) {
        journal_write("status", (const struct journal_field[]){{"address", bound, 0}, {0}});
        return server;
    }
    error_set(error, ERROR_BACKEND_UNAVAILABLE, "the server of health and metrics does not start");
    status_server_free(server);
    return NULL;
}

void status_server_free(struct status_server *server)
{
    if (!server)
        return;
    event_loop_unwatch(server->loop, &server->watch);
    event_loop_cancel(server->loop, &server->time);
    if (server->daemon)
        MHD_stop_daemon(server->daemon);
    free(server);
}
