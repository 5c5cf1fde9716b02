/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the requests to the API server and the bounds of their answers: see api_client.h. Runs in
 * the kubernetes backend. */
#include "backends/kubernetes/api/api_client.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/common/raw_connection.h"
#include "backends/common/run_answer.h"
#include "base/cleanup.h"

#define URL_LIMIT     (API_BASE_LIMIT + API_PATH_LIMIT)
#define BUSY_PAUSE_MS 1000 /* if a busy server names no time */
#define STATUS_BUSY   429
#define STATUS_PAUSED 503
#define STATUS_OK     200

struct api_call {
    struct api_call *next;
    struct api_client *client;
    const struct api_server *server;
    CURL *easy;
    struct curl_slist *headers;
    char words[CURL_ERROR_SIZE]; /* libcurl's message about a failure */
    bool connection;
    bool is_running; /* the multi client has it; else it waits for begin_us */
    bool is_over;    /* it has been answered: only a connection is left */
    uint64_t begin_us;
    uint64_t end_us; /* 0: no limit */
    bool too_long;
    bool was_paused;        /* a try was answered with 503, and may have had its effect */
    struct api_fault fault; /* by which it ends at the next wait; NONE: it does not */
    char *body;
    size_t length;
    size_t searched; /* bytes of it that are known to have no end of a line */
    size_t capacity; /* of body, its end included */
    api_line *line;
    api_done *done;
    void *user;
};

struct api_client {
    CURLM *multi;
    struct api_call *calls;
    struct api_call *speaker; /* whose lines are handed out */
    bool has_library;
};

struct api_client *api_client_new(void)
{
    struct api_client *client = calloc(1, sizeof(*client));
    if (!client)
        return NULL;
    client->has_library = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    client->multi = client->has_library ? curl_multi_init() : NULL;
    if (client->multi)
        return client;
    api_client_free(client);
    return NULL;
}

void api_client_free(struct api_client *client)
{
    while (client->calls)
        api_call_cancel(client->calls);
    if (client->multi)
        (void)curl_multi_cleanup(client->multi);
    if (client->has_library)
        curl_global_cleanup();
    free(client);
}

static long status_of(const struct api_call *call)
{
    long status = 0;
    (void)curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

/* Doubles the room, so that a server that sends single bytes does not cause a copy of the whole
 * body for each. */
static bool make_room(struct api_call *call, size_t length)
{
    size_t needed = call->length + length + 1;
    if (needed <= call->capacity)
        return true;
    size_t capacity = needed > 2 * call->capacity ? needed : 2 * call->capacity;
    char *grown = realloc(call->body, capacity);
    if (!grown)
        return false;
    call->body = grown;
    call->capacity = capacity;
    return true;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *user)
{
    struct api_call *call = user;
    size_t length = size * count;
    size_t limit = call->line ? API_LINE_LIMIT : API_ANSWER_LIMIT;
    if (call->length > limit || length > limit - call->length) {
        call->too_long = true;
        return 0;
    }
    if (!make_room(call, length))
        return 0;
    memcpy(call->body + call->length, bytes, length);
    call->length += length;
    call->body[call->length] = '\0';
    return length; /* libcurl must not be called from here: lines are read later */
}

static void wipe_headers(struct curl_slist *headers)
{
    for (struct curl_slist *header = headers; header; header = header->next)
        explicit_bzero(header->data, strlen(header->data)); /* one is the token */
    curl_slist_free_all(headers);
}

static void take_out(struct api_call *call)
{
    struct api_call **place = &call->client->calls;
    if (call->client->speaker == call)
        call->client->speaker = NULL;
    while (*place && *place != call)
        place = &(*place)->next;
    if (*place)
        *place = call->next;
}

static void free_call(struct api_call *call)
{
    take_out(call);
    if (call->easy) {
        (void)curl_multi_remove_handle(call->client->multi, call->easy);
        curl_easy_cleanup(call->easy);
    }
    wipe_headers(call->headers);
    free(call->body);
    free(call);
}

void api_call_cancel(struct api_call *call)
{
    if (call)
        free_call(call);
}

#define SET(option, value) \
    (result = result == CURLE_OK ? curl_easy_setopt(easy, (option), (value)) : result)

static CURLcode set_text(CURL *easy, CURLoption option, char *text)
{
    struct curl_blob blob = {.data = text, .flags = CURL_BLOB_COPY};
    if (!text)
        return CURLE_OK;
    blob.len = strlen(text);
    return curl_easy_setopt(easy, option, &blob);
}

/* The server's certificate is always checked, for its host, by the one authority. Without the empty
 * CAPATH every authority that the machine knows could sign for a server. Without the empty password
 * OpenSSL would ask a terminal for that of an encrypted key. */
static CURLcode configure_tls(const struct api_call *call)
{
    CURL *easy = call->easy;
    CURLcode result = CURLE_OK;
    SET(CURLOPT_SSL_VERIFYPEER, 1L);
    SET(CURLOPT_SSL_VERIFYHOST, 2L);
    SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    SET(CURLOPT_CAPATH, (char *)NULL);
    SET(CURLOPT_KEYPASSWD, "");
    if (result == CURLE_OK)
        result = set_text(easy, CURLOPT_CAINFO_BLOB, call->server->authority);
    if (result == CURLE_OK)
        result = set_text(easy, CURLOPT_SSLCERT_BLOB, call->server->certificate);
    if (result == CURLE_OK)
        result = set_text(easy, CURLOPT_SSLKEY_BLOB, call->server->key);
    return result;
}

static CURLcode configure_body(struct api_call *call, const struct api_request *request)
{
    CURL *easy = call->easy;
    CURLcode result = CURLE_OK;
    SET(CURLOPT_WRITEFUNCTION, take_body);
    SET(CURLOPT_WRITEDATA, (void *)call);
    SET(CURLOPT_HTTPHEADER, call->headers);
    if (request->body) {
        SET(CURLOPT_POST, 1L);
        SET(CURLOPT_POSTFIELDSIZE, (long)strlen(request->body));
        SET(CURLOPT_COPYPOSTFIELDS, request->body);
    }
    SET(CURLOPT_CUSTOMREQUEST, request->method);
    return result;
}

/* No proxy, no redirection and no configuration of the machine: only this address. */
static CURLcode configure(struct api_call *call, const struct api_request *request)
{
    CURL *easy = call->easy;
    CURLcode result = CURLE_OK;
    char url[URL_LIMIT];
    if ((size_t)snprintf(url, sizeof(url), "%s%s", call->server->base,
                         request->connection ? "/" : request->path) >= sizeof(url))
        return CURLE_URL_MALFORMAT;
    SET(CURLOPT_URL, url);
    SET(CURLOPT_PRIVATE, (void *)call);
    SET(CURLOPT_ERRORBUFFER, call->words);
    SET(CURLOPT_PROTOCOLS_STR, call->server->tls ? "https" : "http");
    SET(CURLOPT_PROXY, "");
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_TCP_KEEPALIVE, 1L);
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)API_CONNECT_LIMIT_MS);
    if (result == CURLE_OK && call->server->tls)
        result = configure_tls(call);
    if (!request->connection)
        return result == CURLE_OK ? configure_body(call, request) : result;
    /* Not a connection that other requests use too: its owner reads and writes it raw. */
    SET(CURLOPT_FRESH_CONNECT, 1L);
    SET(CURLOPT_CONNECT_ONLY, 1L);
    return result;
}

static bool add_header(struct api_call *call, const char *name, const char *value)
{
    CLEANUP_FREE char *line = NULL;
    if (asprintf(&line, "%s%s", name, value) < 0) {
        line = NULL;
        return false;
    }
    struct curl_slist *longer = curl_slist_append(call->headers, line);
    explicit_bzero(line, strlen(line));
    if (longer)
        call->headers = longer;
    return longer;
}

/* Without an empty "Expect" libcurl waits for an interim answer that servers do not send. */
static bool add_headers(struct api_call *call, const struct api_request *request, const char *token)
{
    const char *type = request->content_type ? request->content_type : "application/json";
    return add_header(call, "Content-Type: ", type) &&
           add_header(call, "Accept: application/json", "") &&
           add_header(call, "User-Agent: code-execute", "") && add_header(call, "Expect:", "") &&
           (token[0] == '\0' || add_header(call, "Authorization: Bearer ", token));
}

/* false: it cannot be begun. */
static bool run_call(struct api_call *call)
{
    uint64_t now = monotonic_us();
    uint64_t left_ms = call->end_us > now ? (call->end_us - now + 999) / 1000 : 1;
    call->is_running = curl_easy_setopt(call->easy, CURLOPT_TIMEOUT_MS,
                                        call->end_us ? (long)left_ms : 0L) == CURLE_OK &&
                       curl_multi_add_handle(call->client->multi, call->easy) == CURLM_OK;
    return call->is_running;
}

/* If the token cannot be read, the call begins and is answered with that fault. */
static bool prepare(struct api_call *call, const struct api_request *request)
{
    CLEANUP_FREE char *token =
        request->connection ? strdup("") : api_server_token(call->server, &call->fault);
    call->easy = curl_easy_init();
    if (!token)
        return call->fault.problem != API_PROBLEM_NONE;
    bool is_good =
        call->easy && add_headers(call, request, token) && configure(call, request) == CURLE_OK;
    explicit_bzero(token, strlen(token));
    return is_good;
}

struct api_call *api_call_start(struct api_client *client, const struct api_request *request)
{
    struct api_call *call = calloc(1, sizeof(*call));
    uint64_t now = monotonic_us();
    if (!call)
        return NULL;
    call->next = client->calls;
    client->calls = call;
    call->client = client;
    call->server = request->server;
    call->connection = request->connection;
    call->begin_us = now + 1000 * request->delay_ms;
    call->end_us = request->timeout_ms ? call->begin_us + 1000 * request->timeout_ms : 0;
    call->line = request->line;
    call->done = request->done;
    call->user = request->user;
    bool is_due = !request->delay_ms;
    if (!prepare(call, request) ||
        (is_due && call->fault.problem == API_PROBLEM_NONE && !run_call(call))) {
        free_call(call);
        return NULL;
    }
    return call;
}

/* Gives every whole line to the reader and keeps the rest. false: the reader has cancelled the
 * call. Searched bytes are not searched again, even if a server sends single bytes. */
static bool hand_out_lines(struct api_call *call)
{
    struct api_client *client = call->client;
    size_t begin = 0;
    char *newline;
    client->speaker = call;
    while ((newline = memchr(call->body + call->searched, '\n', call->length - call->searched))) {
        size_t end = (size_t)(newline - call->body);
        call->line(call->user, call->body + begin, end - begin);
        if (!client->speaker)
            return false;
        begin = call->searched = end + 1;
    }
    client->speaker = NULL;
    call->length -= begin;
    memmove(call->body, call->body + begin, call->length);
    call->searched = call->length;
    return true;
}

static void hand_out_all(const struct api_client *client)
{
    struct api_call *call = client->calls;
    while (call) {
        bool speaks = call->line && call->length > call->searched && status_of(call) == STATUS_OK;
        bool is_there = !speaks || hand_out_lines(call);
        call = is_there ? call->next : client->calls; /* begins again: the next may be gone too */
    }
}

static void explain_failure(const struct api_call *call, CURLcode result, struct api_fault *fault)
{
    if (call->fault.problem != API_PROBLEM_NONE)
        *fault = call->fault;
    else if (call->too_long)
        api_fault_set(fault, API_PROBLEM_SILENT, "the API server's answer is too long");
    else
        api_failure_explain(result, call->server, call->words, fault);
}

/* true: it is asked again, after the time that the server says. */
static bool wait_for_busy(struct api_call *call, uint64_t retry_after_ms)
{
    long status = status_of(call);
    uint64_t now = monotonic_us();
    uint64_t pause_us = 1000 * (retry_after_ms ? retry_after_ms : BUSY_PAUSE_MS);
    if (call->connection || (status != STATUS_BUSY && (status != STATUS_PAUSED || !retry_after_ms)))
        return false;
    if (call->end_us && (now >= call->end_us || pause_us >= call->end_us - now))
        return false;
    (void)curl_multi_remove_handle(call->client->multi, call->easy);
    call->is_running = false;
    call->was_paused = call->was_paused || status == STATUS_PAUSED;
    call->begin_us = now + pause_us;
    call->length = call->searched = 0;
    return true;
}

static void finish_call(struct api_call *call, CURLcode result)
{
    curl_off_t retry_after_s = 0;
    struct api_answer answer = {.length = call->length, .was_paused = call->was_paused};
    if (result == CURLE_OK)
        (void)curl_easy_getinfo(call->easy, CURLINFO_RETRY_AFTER, &retry_after_s);
    if (retry_after_s > 0)
        answer.retry_after_ms = (uint64_t)retry_after_s * 1000;
    if (result == CURLE_OK && wait_for_busy(call, answer.retry_after_ms))
        return;
    answer.body = call->body ? call->body : "";
    if (result != CURLE_OK)
        explain_failure(call, result, &answer.fault);
    else if (!call->connection)
        answer.status = status_of(call);
    bool lasts = call->connection;
    call->is_over = true;
    call->done(call->user, &answer); /* a connection may be gone after it */
    if (!lasts)
        free_call(call);
}

/* One that waits for its time, or for its end by a fault. */
static struct api_call *find_due(const struct api_client *client, uint64_t now)
{
    struct api_call *call = client->calls;
    while (call && (call->is_over || call->is_running ||
                    (call->fault.problem == API_PROBLEM_NONE && call->begin_us > now)))
        call = call->next;
    return call;
}

/* Each may change the list. */
static void begin_due(const struct api_client *client)
{
    struct api_call *call;
    while ((call = find_due(client, monotonic_us())))
        if (call->fault.problem != API_PROBLEM_NONE || !run_call(call))
            finish_call(call, CURLE_OUT_OF_MEMORY);
}

/* In milliseconds; at most the given time (-1: without limit). */
static int time_to_wait(const struct api_client *client, int timeout_ms)
{
    uint64_t now = monotonic_us();
    for (const struct api_call *call = client->calls; call; call = call->next) {
        if (call->is_over || call->is_running)
            continue;
        bool is_due = call->fault.problem != API_PROBLEM_NONE || call->begin_us <= now;
        uint64_t left_ms = is_due ? 0 : (call->begin_us - now + 999) / 1000;
        if (timeout_ms < 0 || left_ms < (uint64_t)timeout_ms)
            timeout_ms = left_ms < INT_MAX ? (int)left_ms : INT_MAX;
    }
    return timeout_ms < 0 ? INT_MAX : timeout_ms;
}

int api_client_wait(struct api_client *client, struct curl_waitfd *extra, size_t count,
                    int timeout_ms)
{
    int number;
    CURLMsg *message;
    if (curl_multi_poll(client->multi, extra, (unsigned int)count, time_to_wait(client, timeout_ms),
                        NULL) != CURLM_OK) {
        errno = EIO;
        return -1;
    }
    begin_due(client);
    (void)curl_multi_perform(client->multi, &number);
    hand_out_all(client);
    while ((message = curl_multi_info_read(client->multi, &number))) {
        char *call = NULL;
        CURLcode result = message->data.result;
        if (message->msg == CURLMSG_DONE &&
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &call) == CURLE_OK && call)
            finish_call((struct api_call *)(void *)call, result);
    }
    return 0;
}

int api_connection_fd(const struct api_call *call)
{
    return raw_connection_fd(call->easy);
}

ssize_t api_connection_send(struct api_call *call, const void *bytes, size_t length)
{
    return raw_connection_send(call->easy, bytes, length);
}

ssize_t api_connection_receive(struct api_call *call, void *bytes, size_t capacity)
{
    return raw_connection_receive(call->easy, bytes, capacity);
}
