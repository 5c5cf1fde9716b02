/* SPDX-License-Identifier: Apache-2.0 */
/* One client's connection. Main thread, and the threads of calls that answer. */
#include "mcp/connection.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/console.h"
#include "mcp/server.h"

static void name_principal(struct connection *connection)
{
    char memory[4096];
    struct passwd entry, *found = NULL;
    struct ucred peer = {.uid = getuid()};
    socklen_t size = sizeof(peer);
    if (connection->is_socket)
        (void)getsockopt(connection->in, SOL_SOCKET, SO_PEERCRED, &peer, &size);
    if (getpwuid_r(peer.uid, &entry, memory, sizeof(memory), &found) == 0 && found)
        (void)snprintf(connection->principal, sizeof(connection->principal), "%s", found->pw_name);
}

static void free_connection(struct connection *connection)
{
    write_queue_free(connection->write_queue);
    close_fd(connection->in);
    if (connection->out != connection->in)
        close_fd(connection->out);
    line_reader_clear(&connection->reader);
    session_clear(&connection->session);
    resource_list_clear(&connection->resources);
    free(connection);
}

struct connection *connection_new(struct server *server, int in, int out, bool is_socket,
                                  struct failure *failure)
{
    struct connection *connection = calloc(1, sizeof(*connection));
    if (!connection) {
        close_fd(in);
        if (out != in)
            close_fd(out);
        (void)failure_out_of_memory(failure);
        return NULL;
    }
    *connection = (struct connection){.server = server,
                                      .in = in,
                                      .out = out,
                                      .is_socket = is_socket,
                                      .references = 1,
                                      .reader = {.limit = SERVER_LINE_LIMIT}};
    resource_list_init(&connection->resources);
    name_principal(connection);
    connection->write_queue = write_queue_new(out, server->wake_fd, failure);
    if (connection->write_queue)
        return connection;
    free_connection(connection);
    return NULL;
}

void connection_hold(struct connection *connection)
{
    server_lock(connection->server);
    connection->references++;
    server_unlock(connection->server);
}

void connection_release(struct connection *connection)
{
    server_lock(connection->server);
    bool last = --connection->references == 0;
    server_unlock(connection->server);
    if (last)
        free_connection(connection);
}

void connection_close(struct connection *connection)
{
    server_lock(connection->server);
    connection->closed = true;
    server_unlock(connection->server);
    if (connection->is_socket)
        (void)shutdown(connection->in, SHUT_RDWR);
}

void connection_send(struct connection *connection, json_t *message, enum write_weight weight)
{
    if (!message)
        console_log_notice("could not create a message to the client");
    else if (!write_queue_send(connection->write_queue, message, weight) && weight == WRITE_NEEDED)
        server_wake(connection->server);
    json_decref(message);
}

struct batch *batch_new(struct connection *connection)
{
    struct batch *batch = calloc(1, sizeof(*batch));
    json_t *messages = json_array();
    if (!batch || !messages) {
        free(batch);
        json_decref(messages);
        return NULL;
    }
    *batch = (struct batch){.connection = connection, .open = 1, .messages = messages};
    return batch;
}

void batch_expect(struct batch *batch)
{
    if (!batch)
        return;
    server_lock(batch->connection->server);
    batch->open++;
    server_unlock(batch->connection->server);
}

void connection_answer(struct connection *connection, struct batch *batch, json_t *message)
{
    if (!batch) {
        if (message)
            connection_send(connection, message, WRITE_NEEDED);
        return;
    }
    server_lock(connection->server);
    if (message)
        (void)json_array_append_new(batch->messages, message);
    bool last = --batch->open == 0;
    server_unlock(connection->server);
    if (!last)
        return;
    if (json_array_size(batch->messages) > 0)
        connection_send(connection, batch->messages, WRITE_NEEDED);
    else
        json_decref(batch->messages);
    free(batch);
}
