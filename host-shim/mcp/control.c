/* SPDX-License-Identifier: Apache-2.0 */
/* Serves the socket of --control. Main thread. */
#include "mcp/control.h"

#include <errno.h>
#include <jansson.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/json.h"

#define REQUEST_LIMIT 4096u /* bytes */
#define CLIENT_MS     5000

/* Whoever may write to it could put a socket of his own in the place of ours. */
static bool check_directory(const char *path, struct failure *failure)
{
    CLEANUP_FREE char *copy = strdup(path);
    struct stat status;
    if (!copy)
        return failure_out_of_memory(failure);
    const char *directory = dirname(copy);
    if (stat(directory, &status) != 0)
        return failure_set_errno(failure, "unreadable_file", errno, "--control: directory %s",
                                 directory);
    if ((status.st_uid == geteuid() || status.st_uid == 0) &&
        (status.st_mode & (S_IWGRP | S_IWOTH)) == 0)
        return true;
    (void)failure_set(failure, "untrusted_file",
                      "--control: other users may write to the directory %s", directory);
    return failure_set_hint(failure, "use a directory of this user's own, with mode 0700");
}

bool control_open(const char *path, const struct provider *provider, struct control *ret,
                  struct failure *failure)
{
    *ret = (struct control){.provider = provider, .listener = {.fd = -1}};
    for (size_t i = 0; i < COUNT_OF(ret->clients); i++)
        ret->clients[i].fd = -1;
    return !path ||
           (check_directory(path, failure) && listener_open(path, &ret->listener, failure));
}

static void end_client(struct control_client *client)
{
    close_fd(client->fd);
    line_reader_clear(&client->reader);
    free(client->answer);
    *client = (struct control_client){.fd = -1};
}

void control_close(struct control *control)
{
    for (size_t i = 0; i < COUNT_OF(control->clients); i++)
        if (control->clients[i].fd >= 0)
            end_client(&control->clients[i]);
    listener_close(&control->listener);
}

/* CONTROL_CLIENTS: there is none. */
static size_t free_place(const struct control *control)
{
    size_t i = 0;
    while (i < COUNT_OF(control->clients) && control->clients[i].fd >= 0)
        i++;
    return i;
}

void control_fill_events(const struct control *control, struct pollfd events[CONTROL_EVENTS])
{
    events[0] = (struct pollfd){
        .fd = free_place(control) < CONTROL_CLIENTS ? control->listener.fd : -1, .events = POLLIN};
    for (size_t i = 0; i < COUNT_OF(control->clients); i++)
        events[1 + i] = (struct pollfd){.fd = control->clients[i].fd,
                                        .events = control->clients[i].answer ? POLLOUT : POLLIN};
}

int control_timeout(const struct control *control)
{
    int least = -1;
    for (size_t i = 0; i < COUNT_OF(control->clients); i++) {
        if (control->clients[i].fd < 0)
            continue;
        int left = deadline_poll_timeout(control->clients[i].deadline_ms);
        least = least < 0 || left < least ? left : least;
    }
    return least;
}

/* The provider's list, new; NULL with a failure. */
static json_t *list_sessions(const struct provider *provider, struct failure *failure)
{
    char *text = NULL;
    int32_t code =
        provider->prepare ? provider->prepare("{\"sessions\":true}", &text) : TOOL_FAILED;
    CLEANUP_FREE char *copy = provider_take_text(provider, text);
    json_auto_t *answer = copy ? provider_json_read(copy) : NULL;
    json_t *list = json_object_get(answer, "session_list");
    if (code == TOOL_OK && json_is_array(list))
        return json_incref(list);
    (void)failure_set(failure, "not_supported", "this provider does not list sessions");
    return NULL;
}

static json_t *answer_sessions(const struct control *control, const json_t *request,
                               struct failure *failure)
{
    (void)request;
    json_t *list = list_sessions(control->provider, failure);
    return list ? json_pack("{s:o}", "sessions", list) : NULL;
}

static json_t *answer_end_session(const struct control *control, const json_t *request,
                                  struct failure *failure)
{
    const char *id = json_member_string(request, "id", NULL);
    if (!id)
        (void)failure_set(failure, "invalid_input", "end_session needs an id");
    else if (!control->provider->end_session)
        (void)failure_set(failure, "not_supported", "this provider cannot end a session");
    else if (control->provider->end_session(id) != TOOL_ACCEPTED)
        (void)failure_set(failure, "session_not_found", "there is no session %s", id);
    else
        return json_pack("{s:s}", "ended", id);
    return NULL;
}

static const struct {
    const char *name;
    json_t *(*answer)(const struct control *control, const json_t *request,
                      struct failure *failure);
} commands[] = {
    {"sessions", answer_sessions},
    {"end_session", answer_end_session},
};

static json_t *answer_request(const struct control *control, const json_t *request,
                              struct failure *failure)
{
    const char *name = json_member_string(request, "command", "");
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        if (strcmp(commands[i].name, name) == 0)
            return commands[i].answer(control, request, failure);
    (void)failure_set(failure, "invalid_input", "there is no such command");
    return NULL;
}

/* line NULL: it was too long. */
static void answer_line(const struct control *control, struct control_client *client,
                        const char *line, size_t length)
{
    struct failure failure;
    json_auto_t *request = line ? json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL) : NULL;
    json_auto_t *answer = answer_request(control, request, &failure);
    if (!answer)
        answer = json_pack("{s:o}", "error", failure_to_json(&failure));
    CLEANUP_FREE char *text = answer ? json_compact(answer) : NULL;
    int written = text ? asprintf(&client->answer, "%s\n", text) : -1;
    if (written < 0)
        client->answer = NULL;
    client->length = written < 0 ? 0 : (size_t)written;
}

/* false: there is nothing more to do for it. */
static bool read_client(const struct control *control, struct control_client *client)
{
    char bytes[REQUEST_LIMIT];
    const char *line = NULL;
    size_t length = 0;
    ssize_t got = recv(client->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return true;
    if (got <= 0 || !line_reader_add(&client->reader, bytes, (size_t)got))
        return false;
    enum line_event event = line_reader_next(&client->reader, &line, &length);
    if (event == LINE_NONE)
        return true;
    answer_line(control, client, event == LINE_READY ? line : NULL, length);
    return client->answer != NULL;
}

static bool write_client(struct control_client *client)
{
    ssize_t sent = send(client->fd, client->answer + client->sent, client->length - client->sent,
                        MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0)
        return errno == EINTR || errno == EAGAIN;
    client->sent += (size_t)sent;
    return client->sent < client->length;
}

static void serve_client(const struct control *control, struct control_client *client, short events)
{
    bool goes_on = monotonic_ms() < client->deadline_ms;
    if (goes_on && events && !client->answer)
        goes_on = read_client(control, client);
    if (goes_on && events && client->answer)
        goes_on = write_client(client);
    if (!goes_on)
        end_client(client);
}

static void accept_client(struct control *control)
{
    size_t place = free_place(control);
    int fd = place < CONTROL_CLIENTS ? listener_accept(&control->listener) : -1;
    if (fd >= 0)
        control->clients[place] =
            (struct control_client){.fd = fd,
                                    .reader = {.limit = REQUEST_LIMIT},
                                    .deadline_ms = monotonic_ms() + CLIENT_MS};
}

void control_serve(struct control *control, const struct pollfd events[CONTROL_EVENTS])
{
    for (size_t i = 0; i < COUNT_OF(control->clients); i++)
        if (events[1 + i].fd >= 0)
            serve_client(control, &control->clients[i], events[1 + i].revents);
    if (events[0].fd >= 0 && events[0].revents)
        accept_client(control);
}
