/* SPDX-License-Identifier: Apache-2.0 */
/* Owns libcurl's easy handles: see transfer.h. Runs in the broker. */
#include "backends/egress/upstream/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backends/egress/rules/address.h"
#include "backends/egress/rules/target.h"
#include "backends/egress/upstream/credential.h"
#include "base/cleanup.h"

#define CONNECT_MS 10000

struct transfer {
    struct pool *pool;
    CURL *easy;
    struct curl_slist *headers;
    const struct transfer_handler *handler;
    void *user;
    bool private_addresses;
    const char *refused_address; /* the class; static */
    unsigned status;
    bool head_ended;
    bool upload_paused;
    bool download_paused;
    char error[CURL_ERROR_SIZE];
};

void header_list_free(struct curl_slist *list)
{
    for (struct curl_slist *item = list; item; item = item->next)
        explicit_bzero(item->data, strlen(item->data));
    curl_slist_free_all(list);
}

bool header_list_add(struct curl_slist **list, const char *name, const char *value)
{
    CLEANUP_FREE char *line = secret_join(name, ": ", value, NULL);
    if (!line)
        return false;
    struct curl_slist *longer = curl_slist_append(*list, line);
    explicit_bzero(line, strlen(line));
    if (longer)
        *list = longer;
    return longer != NULL;
}

/* Every connection is made here, and to this address. */
static curl_socket_t open_socket(void *user, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct transfer *transfer = user;
    const char *refusal = purpose == CURLSOCKTYPE_IPCXN
                              ? address_refusal(&address->addr, transfer->private_addresses)
                              : "not a connection";
    if (refusal) {
        transfer->refused_address = refusal;
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static void on_status_line(struct transfer *transfer, const char *line)
{
    unsigned status = 0;
    transfer->status = sscanf(line, "HTTP/%*s %3u", &status) == 1 ? status : 0;
    transfer->handler->status(transfer->user, transfer->status);
}

/* A line "name: value" with its end, which is not NUL-terminated. */
static void on_header_line(struct transfer *transfer, const char *bytes, size_t length)
{
    CLEANUP_FREE char *line = strndup(bytes, length);
    char *colon = line ? strchr(line, ':') : NULL;
    if (!colon)
        return;
    *colon = '\0';
    char *value = colon + 1 + strspn(colon + 1, " \t");
    size_t end = strlen(value);
    while (end > 0 && strchr(" \t\r\n", value[end - 1]))
        value[--end] = '\0';
    transfer->handler->header(transfer->user, line, value);
}

static size_t on_header(char *bytes, size_t size, size_t count, void *user)
{
    struct transfer *transfer = user;
    size_t length = size * count;
    if (transfer->head_ended) /* trailers are not passed on */
        return length;
    if (length >= 5 && strncmp(bytes, "HTTP/", 5) == 0) {
        char line[64];
        (void)snprintf(line, sizeof(line), "%.*s", (int)length, bytes);
        on_status_line(transfer, line);
    } else if (length > 2) {
        on_header_line(transfer, bytes, length);
    } else if (transfer->status >= 200) {
        transfer->head_ended = true;
        transfer->handler->head_end(transfer->user);
    }
    return length;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *user)
{
    struct transfer *transfer = user;
    switch (transfer->handler->body(transfer->user, bytes, size * count)) {
    case TRANSFER_TAKEN:
        return size * count;
    case TRANSFER_PAUSE:
        transfer->download_paused = true;
        return CURL_WRITEFUNC_PAUSE;
    case TRANSFER_STOP:
        break;
    }
    return 0;
}

static size_t on_upload(char *bytes, size_t size, size_t count, void *user)
{
    struct transfer *transfer = user;
    size_t length = transfer->handler->upload(transfer->user, bytes, size * count);
    if (length == TRANSFER_NOTHING) {
        transfer->upload_paused = true;
        return CURL_READFUNC_PAUSE;
    }
    return length == TRANSFER_GIVE_UP ? CURL_READFUNC_ABORT : length;
}

#define SET(option, value) (curl_easy_setopt(easy, option, value) == CURLE_OK)

/* What every connection has in common; nothing of it comes from a request or an environment. */
static bool set_connection(struct transfer *transfer, const struct egress_endpoint *endpoint)
{
    CURL *easy = transfer->easy;
    const struct wire_bytes *ca = pool_ca(transfer->pool);
    struct curl_blob blob = {.data = ca->bytes, .len = ca->length, .flags = CURL_BLOB_NOCOPY};
    bool plain = strncmp(endpoint->base_url, "http://", 7) == 0;
    return SET(CURLOPT_PRIVATE, transfer) && SET(CURLOPT_ERRORBUFFER, transfer->error) &&
           SET(CURLOPT_NOSIGNAL, 1L) && SET(CURLOPT_PROXY, "") && SET(CURLOPT_NOPROXY, "*") &&
           SET(CURLOPT_PROTOCOLS_STR, plain ? "http" : "https") &&
           SET(CURLOPT_FOLLOWLOCATION, 0L) &&
           SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) &&
           SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2) &&
           SET(CURLOPT_SSL_VERIFYPEER, 1L) && SET(CURLOPT_SSL_VERIFYHOST, 2L) &&
           (ca->length == 0 || (SET(CURLOPT_CAINFO_BLOB, &blob) && SET(CURLOPT_CAPATH, NULL))) &&
           SET(CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS) && SET(CURLOPT_TCP_NODELAY, 1L) &&
           SET(CURLOPT_OPENSOCKETFUNCTION, open_socket) && SET(CURLOPT_OPENSOCKETDATA, transfer) &&
           SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
}

static bool set_body(CURL *easy, const struct transfer_request *request)
{
    if (request->body)
        return SET(CURLOPT_POST, 1L) && SET(CURLOPT_POSTFIELDS, request->body) &&
               SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_length);
    return SET(CURLOPT_UPLOAD, 1L) && SET(CURLOPT_READFUNCTION, on_upload) &&
           (request->body_length == TRANSFER_UNKNOWN ||
            SET(CURLOPT_INFILESIZE_LARGE, (curl_off_t)request->body_length));
}

static bool has_body(const struct transfer_request *request)
{
    return request->body || request->body_length > 0 || strcmp(request->method, "POST") == 0 ||
           strcmp(request->method, "PUT") == 0 || strcmp(request->method, "PATCH") == 0;
}

/* An empty one is sent with its length, as servers ask for. */
static bool set_method(CURL *easy, const struct transfer_request *request)
{
    struct transfer_request with_body = *request;
    if (!request->body && request->body_length == 0)
        with_body.body = "";
    if (strcmp(request->method, "HEAD") == 0 && !request->body && request->body_length == 0)
        return SET(CURLOPT_NOBODY, 1L);
    if (has_body(request) && !set_body(easy, &with_body))
        return false;
    return SET(CURLOPT_CUSTOMREQUEST, request->method);
}

/* Headers that libcurl would add by itself are named without a value, which leaves them out. */
static bool add_fixed_headers(struct transfer *transfer, const struct transfer_request *request)
{
    static const char *const left_out[] = {"Expect:", "Accept:", "Content-Type:", "User-Agent:"};
    struct curl_slist **list = &transfer->headers;
    for (char *const *line = request->endpoint->headers; *line; line++) {
        struct curl_slist *longer = curl_slist_append(*list, *line);
        if (!longer)
            return false;
        *list = longer;
    }
    for (size_t i = 0; i < COUNT_OF(left_out); i++) {
        bool given = false;
        for (const struct curl_slist *item = *list; item; item = item->next)
            given |= strncasecmp(item->data, left_out[i], strlen(left_out[i])) == 0;
        struct curl_slist *longer = given ? *list : curl_slist_append(*list, left_out[i]);
        if (!longer)
            return false;
        *list = longer;
    }
    return header_list_add(list, "Accept-Encoding", "identity");
}

static char *make_url(const struct transfer_request *request)
{
    size_t base = strlen(request->endpoint->base_url);
    while (base > 0 && request->endpoint->base_url[base - 1] == '/')
        base--;
    CLEANUP_FREE char *place = strndup(request->endpoint->base_url, base);
    CLEANUP_FREE char *query = credential_query(request->endpoint, request->query);
    char *url =
        place && query ? secret_join(place, request->path, *query ? "?" : "", query, NULL) : NULL;
    if (query)
        explicit_bzero(query, strlen(query));
    return url;
}

static bool set_request(struct transfer *transfer, const struct transfer_request *request)
{
    CURL *easy = transfer->easy;
    CLEANUP_FREE char *url = make_url(request);
    bool set = url && SET(CURLOPT_URL, url) && SET(CURLOPT_PATH_AS_IS, 1L) &&
               set_method(easy, request) && SET(CURLOPT_HEADERFUNCTION, on_header) &&
               SET(CURLOPT_HEADERDATA, transfer) && SET(CURLOPT_WRITEFUNCTION, on_body) &&
               SET(CURLOPT_WRITEDATA, transfer) && SET(CURLOPT_READDATA, transfer) &&
               add_fixed_headers(transfer, request) &&
               credential_headers(request->endpoint, &transfer->headers) &&
               SET(CURLOPT_HTTPHEADER, transfer->headers);
    if (url)
        explicit_bzero(url, strlen(url));
    return set;
}

/* The pool, the endpoint and the handle; the rest is its kind's. */
static struct transfer *transfer_new(struct pool *pool, const struct egress_endpoint *endpoint,
                                     const struct transfer_handler *handler, void *user)
{
    CLEANUP_FREE struct transfer *transfer = calloc(1, sizeof(*transfer));
    if (!transfer)
        return NULL;
    *transfer = (struct transfer){.pool = pool,
                                  .easy = curl_easy_init(),
                                  .handler = handler,
                                  .user = user,
                                  .private_addresses = endpoint->private_addresses};
    if (transfer->easy && set_connection(transfer, endpoint))
        return TAKE_POINTER(transfer);
    curl_easy_cleanup(transfer->easy);
    return NULL;
}

static void transfer_free(struct transfer *transfer)
{
    (void)curl_multi_remove_handle(pool_multi(transfer->pool), transfer->easy);
    curl_easy_cleanup(transfer->easy);
    header_list_free(transfer->headers);
    free(transfer);
}

struct transfer *transfer_start(struct pool *pool, const struct transfer_request *request,
                                const struct transfer_handler *handler, void *user)
{
    struct transfer *transfer = transfer_new(pool, request->endpoint, handler, user);
    if (!transfer)
        return NULL;
    transfer->headers = request->headers;
    if (set_request(transfer, request) &&
        curl_multi_add_handle(pool_multi(pool), transfer->easy) == CURLM_OK)
        return transfer;
    transfer_free(transfer);
    return NULL;
}

struct transfer *transfer_connect(struct pool *pool, const struct egress_endpoint *endpoint,
                                  const struct transfer_handler *handler, void *user)
{
    struct transfer *transfer = transfer_new(pool, endpoint, handler, user);
    if (!transfer)
        return NULL;
    CURL *easy = transfer->easy;
    CLEANUP_FREE char *url = NULL;
    const char *host = strstr(endpoint->base_url, "://") + 3;
    size_t length = strcspn(host, "/");
    const char *port = memchr(host, ']', length); /* behind an IPv6 address */
    bool has_port = memchr(port ? port : host, ':', length - (size_t)((port ? port : host) - host));
    if (asprintf(&url, "http://%.*s%s", (int)length, host, has_port ? "" : ":443") < 0)
        url = NULL;
    if (url && SET(CURLOPT_URL, url) && SET(CURLOPT_PROTOCOLS_STR, "http") &&
        SET(CURLOPT_CONNECT_ONLY, 1L) && SET(CURLOPT_FRESH_CONNECT, 1L) &&
        curl_multi_add_handle(pool_multi(pool), easy) == CURLM_OK)
        return transfer;
    transfer_free(transfer);
    return NULL;
}

int transfer_take_socket(struct transfer *transfer)
{
    curl_socket_t socket = CURL_SOCKET_BAD;
    if (curl_easy_getinfo(transfer->easy, CURLINFO_ACTIVESOCKET, &socket) != CURLE_OK ||
        socket == CURL_SOCKET_BAD) {
        errno = ENOTCONN;
        return -1;
    }
    return fcntl(socket, F_DUPFD_CLOEXEC, 0);
}

void transfer_resume(struct transfer *transfer, bool upload, bool download)
{
    if (upload)
        transfer->upload_paused = false;
    if (download)
        transfer->download_paused = false;
    (void)curl_easy_pause(transfer->easy, (transfer->upload_paused ? CURLPAUSE_SEND : 0) |
                                              (transfer->download_paused ? CURLPAUSE_RECV : 0));
}

void transfer_abort(struct transfer *transfer)
{
    if (transfer)
        transfer_free(transfer);
}

static enum transfer_fault fault_of(const struct transfer *transfer, CURLcode code)
{
    if (code == CURLE_OK)
        return TRANSFER_OK;
    if (transfer->refused_address &&
        (code == CURLE_COULDNT_CONNECT || code == CURLE_NO_CONNECTION_AVAILABLE))
        return TRANSFER_ADDRESS;
    switch ((int)code) {
    case CURLE_OPERATION_TIMEDOUT:
        return TRANSFER_TIMEOUT;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
        return TRANSFER_TLS;
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
        return TRANSFER_PROTOCOL;
    default:
        return TRANSFER_UNREACHABLE;
    }
}

void transfers_finish(CURLM *multi)
{
    int left;
    CURLMsg *message;
    while ((message = curl_multi_info_read(multi, &left)) != NULL) {
        char *private = NULL;
        CURLcode code = message->data.result;
        (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &private);
        struct transfer *transfer = (struct transfer *)(void *)private;
        enum transfer_fault fault = fault_of(transfer, code);
        transfer->handler->done(transfer->user, fault,
                                fault == TRANSFER_ADDRESS ? transfer->refused_address
                                                          : curl_easy_strerror(code));
        transfer_free(transfer);
    }
}
