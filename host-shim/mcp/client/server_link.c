/* SPDX-License-Identifier: Apache-2.0 */
/* The client's side of one server: its bytes, and what is done about its messages. The thread of
 * the servers. */
#include "mcp/client/server_link.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/console.h"
#include "base/deadline.h"
#include "base/json.h"
#include "mcp/client/link_messages.h"
#include "mcp/client/tool_definitions.h"
#include "mcp/wire/json_rpc.h"
#include "mcp/wire/session_revision.h"

#define READ_SIZE        65536u
#define LOG_LINE_LIMIT   2048u
#define MOST_SKIPPED     (UINT64_C(256) << 20) /* of one answer; a server that sends more is ended */
#define MOST_NOTICES     20u                   /* about one process */
#define MOST_PAGES       64u
#define LIST_INTERVAL_MS 1000u

static void write_log(const struct server_link *link, const char *text)
{
    CLEANUP_FREE char *line = NULL;
    if (asprintf(&line, "tool server %s: %s", link->config->name, text) < 0)
        line = NULL;
    console_log_notice(line ? line : text);
}

/* About what it does; a server that goes on like that does not fill the log. */
static void notice(void *user, const char *text)
{
    struct server_link *link = user;
    if (link->notices++ < MOST_NOTICES)
        write_log(link, text);
}

void link_init(struct server_link *link, const struct server_config *config,
               const struct link_listener *listener, const json_t *own)
{
    *link = (struct server_link){
        .config = config,
        .listener = listener,
        .own = own,
        .process = SERVER_PROCESS_NONE,
        .answers = {.limit = LINK_LINE_LIMIT, .tells_end = true},
        .log = {.limit = LOG_LINE_LIMIT},
    };
}

/* The process and all that belongs to it; what a later one needs stays. */
static void drop_process(struct server_link *link)
{
    server_process_end(&link->process);
    line_reader_clear(&link->answers);
    link->answers.tells_end = true;
    line_reader_clear(&link->log);
    json_decref(TAKE_POINTER(link->listing));
    free(TAKE_POINTER(link->unsent));
    link->unsent_length = 0;
    link->own_method = NULL;
    link->is_skipping = false;
    link->list_changed = false;
    link->notices = 0;
    link->state = LINK_DOWN;
}

void link_clear(struct server_link *link)
{
    drop_process(link);
}

__attribute__((format(printf, 2, 3))) static void lose(struct server_link *link, const char *format,
                                                       ...)
{
    char why[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(why, sizeof(why), format, arguments);
    va_end(arguments);
    bool ends = link->state == LINK_ENDING;
    drop_process(link);
    if (!ends)
        write_log(link, why);
    link->listener->lost(link->listener->user, link, why);
}

static void write_unsent(struct server_link *link)
{
    size_t sent = 0;
    while (sent < link->unsent_length && link->process.input >= 0) {
        ssize_t written =
            write(link->process.input, link->unsent + sent, link->unsent_length - sent);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0 && errno == EAGAIN)
            break;
        if (written <= 0) { /* it reads no more, which link_tend() sees */
            server_process_close_input(&link->process);
            sent = link->unsent_length;
            break;
        }
        sent += (size_t)written;
    }
    if (sent > 0)
        memmove(link->unsent, link->unsent + sent, link->unsent_length - sent);
    link->unsent_length -= sent;
}

/* false: too much waits already, or there is no memory, which may be why there is no text. */
static bool send_line(struct server_link *link, const char *text)
{
    size_t length = text ? strlen(text) : 0;
    if (!text || length >= LINK_UNSENT_LIMIT - link->unsent_length)
        return false;
    char *grown = realloc(link->unsent, link->unsent_length + length + 1);
    if (!grown)
        return false;
    char *end = stpcpy(grown + link->unsent_length, text);
    *end = '\n'; /* in the place of the NUL */
    link->unsent = grown;
    link->unsent_length += length + 1;
    write_unsent(link);
    return true;
}

/* Takes the message over. */
static bool send_message(struct server_link *link, json_t *message)
{
    CLEANUP_FREE char *text = json_compact(message);
    json_decref(message);
    return send_line(link, text);
}

/* params is taken over. A request that cannot be sent ends with the link's time to start. */
static void ask_own(struct server_link *link, const char *method, json_t *params)
{
    link->own_method = method;
    link->own_number = ++link->last_number;
    (void)send_message(link, link_request(link->own_number, method, params, link->modern));
}

static bool may_start(struct server_link *link, uint64_t now)
{
    uint64_t oldest = link->starts[link->start_count % LINK_STARTS];
    if (link->start_count >= LINK_STARTS && now < oldest + LINK_STARTS_MS)
        return false;
    link->starts[link->start_count++ % LINK_STARTS] = now;
    return true;
}

bool link_start(struct server_link *link, char *ret_why, size_t why_size)
{
    struct failure failure;
    uint64_t now = monotonic_ms();
    if (!may_start(link, now)) {
        (void)snprintf(ret_why, why_size, "it has been started %u times within %u seconds",
                       LINK_STARTS, LINK_STARTS_MS / 1000);
        return false;
    }
    if (!server_process_start(link->config, &link->process, &failure)) {
        (void)snprintf(ret_why, why_size, "%s", failure.message);
        notice(link, failure.message);
        return false;
    }
    link->state = LINK_STARTING;
    link->modern = false;
    link->own_deadline = now + LINK_START_MS;
    link->own_method = "initialize";
    link->own_number = ++link->last_number;
    (void)send_message(link, link_initialize(link->own_number));
    return true;
}

json_int_t link_call(struct server_link *link, const char *tool, const char *arguments)
{
    json_int_t number = ++link->last_number;
    CLEANUP_FREE char *text = link_call_text(number, tool, arguments, link->modern);
    return send_line(link, text) ? number : 0;
}

void link_cancel(struct server_link *link, json_int_t number, const char *reason)
{
    if (link->state == LINK_READY)
        (void)send_message(
            link, rpc_notification("notifications/cancelled",
                                   json_pack("{s:I, s:s}", "requestId", number, "reason", reason)));
}

void link_begin_end(struct server_link *link)
{
    if (link->state == LINK_DOWN)
        return;
    link->state = LINK_ENDING;
    server_process_close_input(&link->process);
}

static void ask_for_list(struct server_link *link, const json_t *cursor)
{
    json_t *params = cursor ? json_pack("{s:O}", "cursor", cursor) : json_object();
    if (!cursor) {
        json_decref(link->listing);
        link->listing = json_array();
        link->pages = 0;
        link->list_changed = false;
        link->own_deadline = monotonic_ms() + LINK_START_MS;
    }
    ask_own(link, "tools/list", params);
}

static void take_list(struct server_link *link, const json_t *result)
{
    const struct definition_rules rules = {link->config, link->own, notice, link};
    const json_t *cursor = json_object_get(result, "nextCursor");
    if (!tool_definitions_add(link->listing, &rules, result)) {
        lose(link, "there is no memory for its list of tools");
        return;
    }
    if (json_is_string(cursor) && ++link->pages < MOST_PAGES) {
        ask_for_list(link, cursor);
        return;
    }
    link->own_method = NULL;
    link->list_at = monotonic_ms() + LIST_INTERVAL_MS;
    link->state = LINK_READY;
    link->listener->listed(link->listener->user, link, TAKE_POINTER(link->listing));
}

static void take_handshake(struct server_link *link, const json_t *result)
{
    const char *revision = json_member_string(result, "protocolVersion", "");
    if (!link_speaks(revision)) {
        lose(link, "it speaks revision %.32s of the protocol, which toolhost does not", revision);
        return;
    }
    (void)send_message(link, rpc_notification("notifications/initialized", json_object()));
    ask_for_list(link, NULL);
}

static void take_discovery(struct server_link *link, const json_t *result)
{
    if (json_list_has(json_object_get(result, "supportedVersions"), SESSION_MODERN_REVISION))
        ask_for_list(link, NULL);
    else
        lose(link, "it speaks no revision of the protocol that toolhost does");
}

/* A server that refuses the handshake may be one that has none, of 2026-07-28. */
static void take_refusal(struct server_link *link, const json_t *error)
{
    const char *message = json_member_string(error, "message", "");
    if (strcmp(link->own_method, "initialize") == 0) {
        link->modern = true;
        ask_own(link, "server/discover", json_object());
    } else if (link->state == LINK_READY) {
        notice(link, "it does not list its tools again; the list stays as it was");
        link->own_method = NULL;
        json_decref(TAKE_POINTER(link->listing));
    } else {
        lose(link, "it refuses %s: %.200s", link->own_method, message);
    }
}

static void take_own_answer(struct server_link *link, const json_t *message)
{
    const json_t *result = json_object_get(message, "result");
    if (!json_is_object(result))
        take_refusal(link, json_object_get(message, "error"));
    else if (strcmp(link->own_method, "initialize") == 0)
        take_handshake(link, result);
    else if (strcmp(link->own_method, "server/discover") == 0)
        take_discovery(link, result);
    else
        take_list(link, result);
}

/* What toolhost does not offer as a client is refused; it has declared none of it. */
static void answer_request(struct server_link *link, const struct rpc_message *request)
{
    bool is_ping = strcmp(request->method, "ping") == 0;
    json_t *answer = is_ping ? rpc_result(request->id, json_object())
                             : rpc_error(request->id, RPC_METHOD_NOT_FOUND,
                                         "toolhost offers its servers no such method", NULL);
    if (!send_message(link, answer))
        lose(link, "it asks, and does not read the answers");
}

static void take_answer(struct server_link *link, const json_t *id, const json_t *message)
{
    if (!json_is_integer(id))
        notice(link, "it answers a request that toolhost has not sent");
    else if (link->own_method && json_integer_value(id) == link->own_number)
        take_own_answer(link, message);
    else
        link->listener->answered(link->listener->user, link, json_integer_value(id), message, "");
}

static void take_unusable(struct server_link *link, json_int_t number, const char *why)
{
    notice(link, why);
    if (link->own_method && number == link->own_number)
        lose(link, "its answer to %s cannot be used", link->own_method);
    else if (number > 0)
        link->listener->answered(link->listener->user, link, number, NULL, why);
}

static void take_message(struct server_link *link, const json_t *message)
{
    struct rpc_message read = rpc_read(message);
    switch (read.kind) {
    case RPC_REQUEST:
        answer_request(link, &read);
        break;
    case RPC_NOTIFICATION:
        if (strcmp(read.method, "notifications/tools/list_changed") == 0)
            link->list_changed = true;
        break;
    case RPC_RESPONSE:
        take_answer(link, read.id, message);
        break;
    case RPC_INVALID: {
        const json_t *id = json_object_get(message, "id");
        take_unusable(link, json_object_get(message, "method") ? 0 : json_integer_value(id),
                      read.problem);
        break;
    }
    }
}

static void take_line(struct server_link *link, const char *line, size_t length)
{
    struct incoming_problem problem;
    if (strspn(line, " \t\r") >= length)
        return;
    json_auto_t *message = incoming_read(line, length, &problem);
    if (message) {
        take_message(link, message);
        return;
    }
    json_decref(problem.id);
    take_unusable(link, link_guess_number(line, length), problem.message);
}

/* Most servers put the number first, and others last. */
static void take_too_long(struct server_link *link, json_int_t number)
{
    link->is_skipping = number == 0;
    if (number > 0)
        take_unusable(link, number, "its answer has more than 4 MiB");
}

/* A server that has been lost on the way has no lines any more. */
static void take_answers(struct server_link *link)
{
    const char *line = NULL;
    size_t length = 0;
    while (link->state != LINK_DOWN) {
        enum line_event event = line_reader_next(&link->answers, &line, &length);
        if (event == LINE_NONE)
            return;
        if (link->state == LINK_ENDING)
            continue;
        if (event == LINE_READY)
            take_line(link, line, length);
        else if (event == LINE_TOO_LONG)
            take_too_long(link, link_guess_number(line, length));
        if (event != LINE_READY && link->is_skipping)
            take_too_long(link, link_guess_number_at_end(line, length));
        if (event == LINE_SKIPPED)
            link->is_skipping = false;
    }
}

static ssize_t read_some(int fd, char bytes[READ_SIZE])
{
    for (;;) {
        ssize_t got = read(fd, bytes, READ_SIZE);
        if (got >= 0 || errno != EINTR)
            return got;
    }
}

/* false: there is nothing more to read for now. */
static bool read_answers(struct server_link *link)
{
    char bytes[READ_SIZE];
    ssize_t got = read_some(link->process.output, bytes);
    if (got < 0 && errno == EAGAIN)
        return false;
    if (got <= 0) {
        lose(link, link->state == LINK_ENDING ? "it ends" : "it has closed its output");
        return false;
    }
    link->skipped = link->answers.skipping ? link->skipped + (uint64_t)got : 0;
    if (!line_reader_add(&link->answers, bytes, (size_t)got))
        lose(link, "there is no memory for its answers");
    else if (link->skipped > MOST_SKIPPED)
        lose(link, "its answer has no end");
    else
        take_answers(link);
    return link->state != LINK_DOWN;
}

static void read_log(struct server_link *link)
{
    char bytes[READ_SIZE];
    const char *line = NULL;
    size_t length = 0;
    ssize_t got = read_some(link->process.log, bytes);
    if (got <= 0 && !(got < 0 && errno == EAGAIN))
        close_fd(TAKE_FD(link->process.log));
    if (got <= 0 || !line_reader_add(&link->log, bytes, (size_t)got))
        return;
    for (;;) {
        enum line_event event = line_reader_next(&link->log, &line, &length);
        if (event == LINE_NONE)
            return;
        CLEANUP_FREE char *text = event == LINE_READY ? strndup(line, length) : NULL;
        write_log(link, text ? text : "a line that is too long for the log");
    }
}

/* What it wrote before it ended is read first. */
static void take_end(struct server_link *link)
{
    while (read_answers(link))
        continue;
    if (link->state != LINK_DOWN)
        lose(link, "it has ended");
}

void link_fill_events(const struct server_link *link, struct pollfd events[LINK_EVENTS])
{
    const struct server_process *process = &link->process;
    bool writes = link->unsent_length > 0;
    events[LINK_EVENT_OUTPUT] = (struct pollfd){.fd = process->output, .events = POLLIN};
    events[LINK_EVENT_INPUT] =
        (struct pollfd){.fd = writes ? process->input : -1, .events = POLLOUT};
    events[LINK_EVENT_LOG] = (struct pollfd){.fd = process->log, .events = POLLIN};
    events[LINK_EVENT_END] = (struct pollfd){.fd = process->pidfd, .events = POLLIN};
}

void link_serve(struct server_link *link, const struct pollfd events[LINK_EVENTS])
{
    if (events[LINK_EVENT_LOG].revents)
        read_log(link);
    if (events[LINK_EVENT_INPUT].revents)
        write_unsent(link);
    if (events[LINK_EVENT_OUTPUT].revents)
        (void)read_answers(link);
    if (link->state != LINK_DOWN && events[LINK_EVENT_END].revents)
        take_end(link);
}

uint64_t link_tend(struct server_link *link)
{
    uint64_t now = monotonic_ms();
    bool is_up = link->state == LINK_STARTING || link->state == LINK_READY;
    if (!is_up)
        return 0;
    if (link->process.input < 0) {
        lose(link, "it has closed its input");
        return 0;
    }
    if (link->own_method && now >= link->own_deadline) {
        if (link->state == LINK_STARTING) {
            lose(link, "it does not start within %u seconds", LINK_START_MS / 1000);
            return 0;
        }
        take_refusal(link, NULL);
    }
    if (link->state == LINK_READY && link->list_changed && !link->own_method &&
        now >= link->list_at)
        ask_for_list(link, NULL);
    if (link->own_method)
        return link->own_deadline;
    return link->list_changed ? link->list_at : 0;
}
