/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the requests to the engine and the reading of their answers: see engine_http.h. Runs in the
 * docker backend. */
#include "backends/docker/engine/engine_http.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/common/raw_connection.h"
#include "base/cleanup.h"

#define URL_LIMIT     2048
#define REFUSAL_BEGIN 70 /* bytes of an engine's message */
#define REFUSAL_END   100
#define UPLOAD_PIECE  262144L
/* Without a byte in either direction, until an upload is given up: an engine unpacks it as it
 * comes.
 */
#define UPLOAD_STILL_S 30L

struct engine_call {
    CURLM *client;
    CURL *easy;
    struct curl_slist *headers;
    struct engine_address address;
    char words[CURL_ERROR_SIZE]; /* libcurl's message about a failure */
    bool connection;
    bool too_long;
    char *body;
    size_t length;
    size_t capacity; /* of body, its end included */
    engine_line *line;
    engine_read *read;
    engine_done *done;
    void *user;
};

CURLM *engine_client_new(void)
{
    return curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? curl_multi_init() : NULL;
}

void engine_client_free(CURLM *client)
{
    (void)curl_multi_cleanup(client);
    curl_global_cleanup();
}

/* Hands every whole line to its reader and keeps the rest. The first "kept" bytes are known to have
 * no end of a line: an engine that sends byte by byte must not make each byte a search of them all.
 */
static void take_lines(struct engine_call *call, size_t kept)
{
    char *begin = call->body;
    char *search = call->body + kept;
    char *end = call->body + call->length;
    for (char *newline; (newline = memchr(search, '\n', (size_t)(end - search)));) {
        call->line(call->user, begin, (size_t)(newline - begin));
        begin = search = newline + 1;
    }
    call->length = (size_t)(end - begin);
    memmove(call->body, begin, call->length);
    call->body[call->length] = '\0';
}

/* Doubles: an engine that sends byte by byte must not make each byte a copy of them all. */
static bool make_room(struct engine_call *call, size_t length)
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
    struct engine_call *call = user;
    size_t length = size * count;
    if (length > ENGINE_ANSWER_LIMIT - call->length) {
        call->too_long = true;
        return 0;
    }
    if (!make_room(call, length))
        return 0;
    memcpy(call->body + call->length, bytes, length);
    call->length += length;
    call->body[call->length] = '\0';
    if (call->line)
        take_lines(call, call->length - length);
    return length;
}

static void free_call(struct engine_call *call)
{
    if (call->easy) {
        (void)curl_multi_remove_handle(call->client, call->easy);
        curl_easy_cleanup(call->easy);
    }
    curl_slist_free_all(call->headers);
    free(call->body);
    free(call);
}

void engine_call_cancel(struct engine_call *call)
{
    if (call)
        free_call(call);
}

#define SET(option, value) \
    (result = result == CURLE_OK ? curl_easy_setopt(easy, (option), (value)) : result)

static size_t read_body(char *bytes, size_t size, size_t count, void *user)
{
    struct engine_call *call = user;
    size_t length = call->read(call->user, bytes, size * count);
    return length == ENGINE_READ_FAILED ? CURL_READFUNC_ABORT : length;
}

/* In pieces, because nobody knows its length. A connection that turns out to be dead could not have
 * the bytes again, so it is a new one. */
static CURLcode configure_upload(struct engine_call *call)
{
    CURL *easy = call->easy;
    CURLcode result = CURLE_OK;
    SET(CURLOPT_FRESH_CONNECT, 1L);
    SET(CURLOPT_UPLOAD, 1L);
    SET(CURLOPT_UPLOAD_BUFFERSIZE, UPLOAD_PIECE);
    SET(CURLOPT_LOW_SPEED_LIMIT, 1L);
    SET(CURLOPT_LOW_SPEED_TIME, UPLOAD_STILL_S);
    SET(CURLOPT_READFUNCTION, read_body);
    SET(CURLOPT_READDATA, (void *)call);
    return result;
}

static CURLcode configure_body(struct engine_call *call, const struct engine_request *request)
{
    CURL *easy = call->easy;
    CURLcode result = CURLE_OK;
    const char *text = request->body ? request->body : "";
    const void *body = request->archive ? (const void *)request->archive : text;
    size_t length = request->archive ? request->archive_length : strlen(text);
    SET(CURLOPT_WRITEFUNCTION, take_body);
    SET(CURLOPT_WRITEDATA, (void *)call);
    SET(CURLOPT_HTTPHEADER, call->headers);
    if (call->read)
        return result == CURLE_OK ? configure_upload(call) : result;
    if (strcmp(request->method, "POST") == 0 || request->archive) {
        SET(CURLOPT_POST, 1L);
        SET(CURLOPT_POSTFIELDSIZE, (long)length);
        SET(CURLOPT_COPYPOSTFIELDS, body);
    }
    SET(CURLOPT_CUSTOMREQUEST, request->method);
    return result;
}

/* The engine's certificate is always checked, for its host, by the one CA file. Without the empty
 * CAPATH every authority that the machine knows could sign for an engine. Without the empty
 * password OpenSSL would ask a terminal for that of an encrypted key. */
static CURLcode configure_tls(const struct engine_call *call)
{
    static const struct {
        CURLoption option;
        const char *name;
    } files[] = {{CURLOPT_CAINFO, ENGINE_CA},
                 {CURLOPT_SSLCERT, ENGINE_CERTIFICATE},
                 {CURLOPT_SSLKEY, ENGINE_KEY}};
    CURL *easy = call->easy;
    CURLcode result = CURLE_OK;
    char path[PATH_MAX + 16];
    SET(CURLOPT_SSL_VERIFYPEER, 1L);
    SET(CURLOPT_SSL_VERIFYHOST, 2L);
    SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    SET(CURLOPT_CAPATH, (char *)NULL);
    SET(CURLOPT_KEYPASSWD, "");
#if LIBCURL_VERSION_NUM >= 0x075700
    /* Else libcurl would trust a removed authority for another day. */
    SET(CURLOPT_CA_CACHE_TIMEOUT, 0L);
#endif
    for (size_t i = 0; i < (call->address.client_certificate ? COUNT_OF(files) : 1); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", call->address.certificates, files[i].name);
        SET(files[i].option, path);
    }
    return result;
}

/* No proxy, no redirection and no configuration of the machine: only this address. */
static CURLcode configure(struct engine_call *call, const struct engine_request *request)
{
    CURL *easy = call->easy;
    CURLcode result = CURLE_OK;
    char url[URL_LIMIT];
    bool tls = call->address.certificates[0] != '\0';
    if ((size_t)snprintf(url, sizeof(url), "%s%s", call->address.base,
                         request->connection ? "/" : request->path) >= sizeof(url))
        return CURLE_URL_MALFORMAT;
    SET(CURLOPT_URL, url);
    SET(CURLOPT_PRIVATE, (void *)call);
    SET(CURLOPT_ERRORBUFFER, call->words);
    SET(CURLOPT_PROTOCOLS_STR, tls ? "https" : "http");
    SET(CURLOPT_PROXY, "");
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_TCP_KEEPALIVE, 1L);
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)ENGINE_CONNECT_LIMIT_MS);
    SET(CURLOPT_TIMEOUT_MS, (long)request->timeout_ms);
    if (call->address.socket_path[0] != '\0')
        SET(CURLOPT_UNIX_SOCKET_PATH, call->address.socket_path);
    if (result == CURLE_OK && tls)
        result = configure_tls(call);
    if (!request->connection)
        return result == CURLE_OK ? configure_body(call, request) : result;
    /* Not a connection that other requests use too: its owner reads and writes it raw. */
    SET(CURLOPT_FRESH_CONNECT, 1L);
    SET(CURLOPT_CONNECT_ONLY, 1L);
    return result;
}

/* Without an empty "Expect" libcurl waits for an interim answer that engines do not send. */
static bool add_headers(struct engine_call *call, bool archive)
{
    const char *const headers[] = {
        archive ? "Content-Type: application/x-tar" : "Content-Type: application/json", "Expect:"};
    for (size_t i = 0; i < COUNT_OF(headers); i++) {
        struct curl_slist *longer = curl_slist_append(call->headers, headers[i]);
        if (!longer)
            return false;
        call->headers = longer;
    }
    return true;
}

struct engine_call *engine_call_start(CURLM *client, const struct engine_request *request)
{
    struct engine_call *call = calloc(1, sizeof(*call));
    if (!call)
        return NULL;
    call->client = client;
    call->address = *request->address;
    call->connection = request->connection;
    call->line = request->line;
    call->read = request->read;
    call->done = request->done;
    call->user = request->user;
    call->easy = curl_easy_init();
    if (!call->easy || !add_headers(call, request->archive || request->read) ||
        configure(call, request) != CURLE_OK ||
        curl_multi_add_handle(client, call->easy) != CURLM_OK) {
        free_call(call);
        return NULL;
    }
    return call;
}

static void explain_failure(const struct engine_call *call, CURLcode result,
                            struct engine_fault *fault)
{
    if (call->too_long)
        engine_fault_set(fault, ENGINE_PROBLEM_SILENT, "docker's answer is longer than %u bytes",
                         ENGINE_ANSWER_LIMIT);
    else
        engine_failure_explain(call->easy, result, &call->address, call->words, fault);
}

static void finish_call(struct engine_call *call, CURLcode result)
{
    struct engine_answer answer = {.body = call->body ? call->body : "", .length = call->length};
    if (result != CURLE_OK)
        explain_failure(call, result, &answer.fault);
    else if (!call->connection)
        (void)curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &answer.status);
    bool lasts = call->connection;
    call->done(call->user, &answer); /* a connection may be gone after it */
    if (!lasts)
        free_call(call);
}

int engine_client_wait(CURLM *client, struct curl_waitfd *extra, size_t count, int timeout_ms)
{
    int number;
    CURLMsg *message;
    if (curl_multi_poll(client, extra, (unsigned int)count, timeout_ms, NULL) != CURLM_OK) {
        errno = EIO;
        return -1;
    }
    (void)curl_multi_perform(client, &number);
    while ((message = curl_multi_info_read(client, &number))) {
        char *call = NULL;
        CURLcode result = message->data.result;
        if (message->msg == CURLMSG_DONE &&
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &call) == CURLE_OK && call)
            finish_call((struct engine_call *)(void *)call, result);
    }
    return 0;
}

int engine_connection_fd(const struct engine_call *call)
{
    return raw_connection_fd(call->easy);
}

ssize_t engine_connection_send(struct engine_call *call, const void *bytes, size_t length)
{
    return raw_connection_send(call->easy, bytes, length);
}

ssize_t engine_connection_receive(struct engine_call *call, void *bytes, size_t capacity)
{
    return raw_connection_receive(call->easy, bytes, capacity);
}

void engine_answer_refusal(const struct engine_answer *answer, const char *name, bool creating,
                           const char *what, struct engine_fault *fault)
{
    json_auto_t *json = json_loadb(answer->body, answer->length, 0, NULL);
    const char *message = json_string_value(json_object_get(json, "message"));
    size_t length = message ? strlen(message) : 0;
    bool cut = length > REFUSAL_BEGIN + REFUSAL_END;
    /* Podman's answer to members that its API lacks. */
    bool unfit = creating && strcmp(name, "podman") == 0;
    /* Engines put the context in front of the reason, which is at the end. */
    engine_fault_set(fault, unfit ? ENGINE_PROBLEM_UNFIT : ENGINE_PROBLEM_REFUSED,
                     "%s refused to %s (%ld): %.*s%s%s", name[0] ? name : "docker", what,
                     answer->status, cut ? REFUSAL_BEGIN : (int)length, message ? message : "",
                     cut ? " ... " : "", cut ? message + length - REFUSAL_END : "");
    for (char *c = fault->message; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = ' ';
}

json_t *engine_answer_take(const struct engine_answer *answer, long expected, const char *name,
                           bool creating, const char *what, struct engine_fault *fault)
{
    if (answer->fault.problem != ENGINE_PROBLEM_NONE) {
        *fault = answer->fault;
        return NULL;
    }
    if (answer->status != expected) {
        engine_answer_refusal(answer, name, creating, what, fault);
        return NULL;
    }
    json_t *json = json_loadb(answer->body, answer->length, 0, NULL);
    if (json_is_object(json))
        return json;
    json_decref(json);
    engine_fault_set(fault, ENGINE_PROBLEM_SILENT, "docker's answer is not a JSON object: %s",
                     what);
    return NULL;
}
