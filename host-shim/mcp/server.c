/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's loop and its end. Main thread; what is marked so in the header, any. The end has a
 * time limit of its own: a client that has closed our input may send signals next.
 */
#include "mcp/server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#include "base/cleanup.h"
#include "base/console.h"
#include "base/deadline.h"
#include "base/end_signal.h"
#include "base/event.h"
#include "mcp/call.h"
#include "mcp/client/tool_servers.h"
#include "mcp/connection.h"
#include "mcp/dispatch.h"
#include "mcp/offer.h"
#include "mcp/wire/listener.h"
#include "metrics/metrics.h"

#define MOST_CONNECTIONS 16u
#define READ_SIZE        65536u
#define DRAIN_MS         200
#define FORCED_END_MS    1900

enum fixed_events {
    EVENT_WAKE,
    EVENT_SIGNAL,
    EVENT_LISTENER,
    EVENT_CONNECTIONS, /* and those behind it */
};

#define MOST_EVENTS (EVENT_CONNECTIONS + MOST_CONNECTIONS + CONTROL_EVENTS)

static size_t count_connections(const struct server *server)
{
    size_t count = 0;
    for (const struct connection *connection = server->connections; connection;
         connection = connection->next)
        count++;
    return count;
}

static bool add_connection(struct server *server, int in, int out, bool is_socket,
                           struct failure *failure)
{
    struct connection *connection = connection_new(server, in, out, is_socket, failure);
    if (!connection)
        return false;
    connection->next = server->connections;
    server->connections = connection;
    return true;
}

static void accept_client(struct server *server, const struct listener *listener)
{
    struct failure failure;
    int fd = listener_accept(listener);
    if (fd >= 0 && !add_connection(server, fd, fd, true, &failure))
        console_log_notice(failure.message);
}

static void end_connection(struct server *server, struct connection *connection)
{
    struct connection **link = &server->connections;
    while (*link != connection)
        link = &(*link)->next;
    *link = connection->next;
    call_cancel(server, connection, NULL);
    connection_close(connection);
    connection_release(connection);
}

static void dispatch_lines(struct connection *connection)
{
    const char *line = NULL;
    size_t length = 0;
    for (;;) {
        switch (line_reader_next(&connection->reader, &line, &length)) {
        case LINE_NONE:
            return;
        case LINE_SKIPPED: /* reported before */
            break;
        case LINE_READY:
            dispatch_line(connection, line, length);
            break;
        case LINE_TOO_LONG:
            dispatch_too_long(connection);
            break;
        }
    }
}

/* false: no more will come. */
static bool read_connection(struct connection *connection)
{
    char bytes[READ_SIZE];
    ssize_t got = read(connection->in, bytes, sizeof(bytes));
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return true;
    if (got <= 0 || !line_reader_add(&connection->reader, bytes, (size_t)got))
        return false;
    dispatch_lines(connection);
    return true;
}

/* Fills the events; the connections' in their order, and behind them those of the operator. */
static nfds_t fill_events(const struct server *server, int signal_fd,
                          const struct listener *listener, struct pollfd events[MOST_EVENTS])
{
    bool full = count_connections(server) >= MOST_CONNECTIONS;
    events[EVENT_WAKE] = (struct pollfd){.fd = server->wake_fd, .events = POLLIN};
    events[EVENT_SIGNAL] = (struct pollfd){.fd = signal_fd, .events = POLLIN};
    events[EVENT_LISTENER] = (struct pollfd){.fd = full ? -1 : listener->fd, .events = POLLIN};
    nfds_t count = EVENT_CONNECTIONS;
    for (const struct connection *connection = server->connections; connection;
         connection = connection->next)
        events[count++] = (struct pollfd){.fd = connection->in, .events = POLLIN};
    control_fill_events(&server->control, events + count);
    return count + CONTROL_EVENTS;
}

/* false: the one client of standard input has gone. Its connection stays for the end, which has a
 * limit: what was not written may never be. */
static bool read_connections(struct server *server, const struct pollfd *events)
{
    for (struct connection *connection = server->connections, *next = NULL; connection;
         connection = next, events++) {
        next = connection->next;
        bool lasts = !write_queue_is_broken(connection->write_queue);
        if (lasts && events->revents)
            lasts = read_connection(connection);
        if (!lasts && !connection->is_socket)
            return false;
        if (!lasts)
            end_connection(server, connection);
    }
    return true;
}

/* Of two times to wait, of which -1 is for ever. */
static int sooner(int one, int other)
{
    return one < 0 || (other >= 0 && other < one) ? other : one;
}

/* Until the last client is gone or a signal comes. */
static void serve_clients(struct server *server, int signal_fd, const struct listener *listener)
{
    struct pollfd events[MOST_EVENTS];
    for (;;) {
        offer_refresh(server);
        int timeout = sooner(call_tend(server), control_timeout(&server->control));
        nfds_t count = fill_events(server, signal_fd, listener, events);
        if (poll(events, count, timeout) < 0) {
            if (errno == EINTR)
                continue;
            return;
        }
        if (events[EVENT_SIGNAL].revents)
            return;
        if (events[EVENT_WAKE].revents)
            event_clear(server->wake_fd);
        control_serve(&server->control, events + count - CONTROL_EVENTS);
        if (!read_connections(server, events + EVENT_CONNECTIONS))
            return;
        if (events[EVENT_LISTENER].revents)
            accept_client(server, listener);
    }
}

static void *end_by_force(void *unused)
{
    (void)unused;
    (void)usleep(FORCED_END_MS * 1000);
    /* A provider's backends end with the process. */
    _exit(EXIT_SUCCESS);
}

/* A run or a provider's shutdown that hangs must not keep the process alive. */
static void limit_the_end(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, end_by_force, NULL) == 0)
        (void)pthread_detach(thread);
}

static void end_calls(struct server *server)
{
    uint64_t deadline = monotonic_ms() + SERVER_END_MS;
    call_cancel(server, NULL, NULL);
    for (;;) {
        int timeout = call_tend(server);
        int left = deadline_poll_timeout(deadline);
        if (call_count(server) == 0)
            return;
        if (left == 0)
            _exit(EXIT_SUCCESS);
        struct pollfd event = {.fd = server->wake_fd, .events = POLLIN};
        if (poll(&event, 1, timeout >= 0 && timeout < left ? timeout : left) > 0)
            event_clear(server->wake_fd);
    }
}

static void end_connections(struct server *server)
{
    uint64_t deadline = monotonic_ms() + DRAIN_MS;
    while (server->connections) {
        write_queue_drain(server->connections->write_queue, deadline);
        end_connection(server, server->connections);
    }
}

static bool open_clients(struct server *server, int *out, struct listener *listener,
                         struct failure *failure)
{
    if (server->options->listen)
        return listener_open(server->options->listen, listener, failure);
    int in = console_take_stdin();
    if (in < 0)
        return failure_set_errno(failure, "internal", errno, "standard input cannot be used");
    return add_connection(server, in, TAKE_FD(*out), false, failure);
}

bool server_run(const struct options *options, const struct provider *provider,
                const struct tool_grants *grants, json_t *context, json_t *status, int out,
                struct failure *failure)
{
    CLEANUP_CLOSE int wake = event_new();
    CLEANUP_CLOSE int own_out = fcntl(out, F_DUPFD_CLOEXEC, 3);
    struct server server = {.options = options,
                            .provider = provider,
                            .grants = grants,
                            .context = context,
                            .status = status,
                            .wake_fd = wake};
    struct listener listener = {.fd = -1};
    struct metrics metrics = METRICS_NONE;
    int signal_fd = -1;
    if (wake < 0 || own_out < 0)
        return failure_set_errno(failure, "internal", errno, "no descriptors");
    if (!input_required_init(&server.input_required, failure) ||
        !catalogue_make(provider->manifest(), status, options->full_result, &server.catalogue,
                        failure))
        return false;
    (void)pthread_mutex_init(&server.lock, NULL);
    (void)pthread_cond_init(&server.changed, NULL);
    end_signal_ignore_pipe();
    bool open = control_open(options->control, provider, &server.control, failure) &&
                end_signal_watch(&signal_fd, failure) &&
                metrics_start(&metrics, options->metrics, options->metrics_listen, provider, status,
                              failure) &&
                open_clients(&server, &own_out, &listener, failure);
    if (open) {
        tool_servers_watch(grants->grants.tool_servers, server.wake_fd);
        serve_clients(&server, signal_fd, &listener);
        tool_servers_watch(grants->grants.tool_servers, -1);
        limit_the_end();
        tool_servers_begin_end(grants->grants.tool_servers);
        metrics_stop(&metrics);
        end_calls(&server);
        end_connections(&server);
    }
    metrics_stop(&metrics);
    listener_close(&listener);
    control_close(&server.control);
    input_required_clear(&server.input_required);
    catalogue_clear(&server.catalogue);
    (void)pthread_cond_destroy(&server.changed);
    (void)pthread_mutex_destroy(&server.lock);
    return open;
}
