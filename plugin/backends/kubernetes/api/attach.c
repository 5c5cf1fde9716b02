/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the attached stream: see attach.h. Runs in the kubernetes backend. */
#include "backends/kubernetes/api/attach.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "backends/kubernetes/api/attach_channels.h"
#include "backends/kubernetes/api/upgrade.h"
#include "backends/kubernetes/api/websocket.h"
#include "base/base64.h"
#include "base/cleanup.h"

/* The limit of bytes taken and not sent yet. It is low, because nothing says how much of them has
 * arrived. */
#define OUT_LIMIT    32768
#define CONTROL_ROOM (2 * (WEBSOCKET_HEADER_LIMIT + WEBSOCKET_CONTROL_LIMIT))
#define FRAME_ROOM   (WEBSOCKET_HEADER_LIMIT + 1) /* and the channel */
/* Load balancers cut a connection that was idle for a minute or more. */
#define PING_US (UINT64_C(20) * 1000000)

struct attach {
    struct api_call *connection;
    attach_connected *connected;
    void *user;
    char key[32]; /* of the handshake */
    char *request;
    size_t asked; /* bytes sent of it */
    struct upgrade upgrade;
    bool is_open;
    bool is_ended;    /* by a close frame */
    uint64_t ping_us; /* when the next one is due; 0: the stream has just opened */
    struct attach_channels channels;
    unsigned char out[OUT_LIMIT + CONTROL_ROOM];
    size_t out_begin;
    size_t out_end;
};

static void take_connection(void *user, const struct api_answer *answer)
{
    struct attach *attach = user;
    attach->connected(attach->user, &answer->fault);
}

static char *write_request(const struct api_server *server, const char *path, const char *key,
                           const char *token)
{
    char *text = NULL;
    const char *prefix = strstr(server->base, server->host) + strlen(server->host);
    if (asprintf(&text,
                 "GET %s%s HTTP/1.1\r\nHost: %s\r\nUser-Agent: code-execute\r\n"
                 "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                 "Sec-WebSocket-Key: %s\r\nSec-WebSocket-Protocol: " UPGRADE_V5 ", " UPGRADE_V4
                 "\r\n%s%s%s\r\n",
                 prefix, path, server->host, key, token[0] ? "Authorization: Bearer " : "", token,
                 token[0] ? "\r\n" : "") < 0)
        return NULL;
    return text;
}

/* false with the fault, or without one when out of memory. */
static bool prepare(struct attach *attach, const struct api_server *server, const char *name_space,
                    const char *pod, const char *container, struct api_fault *fault)
{
    unsigned char random[WEBSOCKET_KEY_BYTES];
    char path[API_PATH_LIMIT];
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return api_fault_set(fault, API_PROBLEM_SILENT, "no random bytes");
    CLEANUP_FREE char *key = base64_encode(random, sizeof(random));
    CLEANUP_FREE char *token = api_server_token(server, fault);
    if (!key || !token)
        return false;
    (void)snprintf(attach->key, sizeof(attach->key), "%s", key);
    (void)snprintf(path, sizeof(path),
                   "/api/v1/namespaces/%s/pods/%s/attach?container=%s&stdin=true&stdout=true&"
                   "stderr=true",
                   name_space, pod, container);
    attach->request = write_request(server, path, key, token);
    explicit_bzero(token, strlen(token));
    return attach->request;
}

struct attach *attach_open(struct api_client *client, const struct api_server *server,
                           const char *name_space, const char *pod, const char *container,
                           attach_connected *connected, void *user)
{
    struct attach *attach = calloc(1, sizeof(*attach));
    struct api_fault fault = {.problem = API_PROBLEM_NONE};
    if (!attach)
        return NULL;
    attach->connected = connected;
    attach->user = user;
    const struct api_request request = {
        .server = server,
        .connection = true,
        .done = take_connection,
        .user = attach,
    };
    if (prepare(attach, server, name_space, pod, container, &fault))
        attach->connection = api_call_start(client, &request);
    if (attach->connection)
        return attach;
    attach_close(attach);
    return NULL;
}

static void wipe_request(struct attach *attach)
{
    if (attach->request)
        explicit_bzero(attach->request, strlen(attach->request));
    free(attach->request);
    attach->request = NULL;
}

void attach_close(struct attach *attach)
{
    if (!attach)
        return;
    api_call_cancel(attach->connection);
    wipe_request(attach);
    explicit_bzero(attach, sizeof(*attach)); /* what a program gets */
    free(attach);
}

int attach_fd(const struct attach *attach)
{
    return api_connection_fd(attach->connection);
}

int attach_ask(struct attach *attach)
{
    size_t length = attach->request ? strlen(attach->request) : 0;
    while (attach->asked < length) {
        ssize_t count = api_connection_send(attach->connection, attach->request + attach->asked,
                                            length - attach->asked);
        if (count == 0 || (count < 0 && errno == EAGAIN))
            return 0;
        if (count < 0)
            return -1;
        attach->asked += (size_t)count;
    }
    wipe_request(attach);
    attach->asked = 0;
    return 1;
}

/* A whole frame; the caller has seen that it has room. false: no random bytes. */
static bool put_frame(struct attach *attach, enum websocket_opcode opcode, const void *first,
                      size_t first_length, const void *bytes, size_t length)
{
    unsigned char mask[WEBSOCKET_MASK_BYTES];
    if (getrandom(mask, sizeof(mask), 0) != (ssize_t)sizeof(mask))
        return false;
    unsigned char *place = attach->out + attach->out_end;
    place += websocket_header(opcode, first_length + length, mask, place);
    if (first_length > 0)
        memcpy(place, first, first_length);
    if (length > 0)
        memcpy(place + first_length, bytes, length);
    websocket_mask(place, first_length + length, 0, mask);
    attach->out_end = (size_t)(place + first_length + length - attach->out);
    return true;
}

/* -1: broken; it shows when it is received from. */
static int send_out(struct attach *attach)
{
    while (attach->out_begin < attach->out_end) {
        ssize_t count = api_connection_send(attach->connection, attach->out + attach->out_begin,
                                            attach->out_end - attach->out_begin);
        if (count == 0 || (count < 0 && errno == EAGAIN))
            return 0;
        if (count < 0) {
            attach->out_begin = attach->out_end = 0;
            return -1;
        }
        attach->out_begin += (size_t)count;
    }
    attach->out_begin = attach->out_end = 0;
    return 1;
}

ssize_t attach_send(struct attach *attach, const void *bytes, size_t length)
{
    static const unsigned char channel = ATTACH_STDIN;
    if (!attach->is_open || attach->is_ended) {
        errno = attach->is_open ? EPIPE : EAGAIN;
        return -1;
    }
    size_t room = OUT_LIMIT > attach->out_end ? OUT_LIMIT - attach->out_end : 0;
    if (room <= FRAME_ROOM || length == 0) {
        errno = EAGAIN;
        return -1;
    }
    size_t count = length < room - FRAME_ROOM ? length : room - FRAME_ROOM;
    if (!put_frame(attach, WEBSOCKET_BINARY, &channel, 1, bytes, count)) {
        errno = EIO;
        return -1;
    }
    if (send_out(attach) < 0) {
        errno = EPIPE;
        return -1;
    }
    return (ssize_t)count;
}

void attach_flush(struct attach *attach)
{
    (void)send_out(attach);
}

bool attach_has_unsent(const struct attach *attach)
{
    return attach->out_begin < attach->out_end;
}

/* A connection that takes no more is not idle. */
uint64_t attach_keep_alive(struct attach *attach, uint64_t now_us)
{
    if (!attach->is_open || attach->is_ended)
        return UINT64_MAX;
    if (attach->ping_us == 0 || now_us >= attach->ping_us) {
        if (attach->ping_us > 0 && !attach_has_unsent(attach) &&
            put_frame(attach, WEBSOCKET_PING, NULL, 0, NULL, 0))
            attach_flush(attach);
        attach->ping_us = now_us + PING_US;
    }
    return attach->ping_us;
}

ssize_t attach_receive(struct attach *attach, void *bytes, size_t capacity)
{
    return api_connection_receive(attach->connection, bytes, capacity);
}

/* One pong answers all pings before it (section 5.5.3), so one without room is left out. */
static void answer_ping(struct attach *attach, const struct attach_piece *piece)
{
    if (attach->out_end + WEBSOCKET_HEADER_LIMIT + piece->length > sizeof(attach->out))
        return;
    (void)put_frame(attach, WEBSOCKET_PONG, NULL, 0, piece->bytes, piece->length);
    attach_flush(attach);
}

static ptrdiff_t fail(struct api_fault *fault, const char *why)
{
    api_fault_set(fault, API_PROBLEM_SILENT, "the attached stream is broken: %s", why);
    return -1;
}

static ptrdiff_t feed_head(struct attach *attach, const unsigned char *bytes, size_t length,
                           struct attach_said *ret, struct api_fault *fault)
{
    size_t taken = 0;
    const char *body;
    size_t body_length = 0;
    switch (upgrade_feed(&attach->upgrade, attach->key, bytes, length, &taken)) {
    case UPGRADE_MORE:
        return (ptrdiff_t)taken;
    case UPGRADE_GRANTED:
        attach->is_open = true;
        ret->word = ATTACH_WORD_OPENED;
        return (ptrdiff_t)taken;
    case UPGRADE_REFUSED:
        body = upgrade_body(&attach->upgrade, &body_length);
        api_refusal_explain(attach->upgrade.status, body, body_length, "attach to the pod", fault);
        return -1;
    case UPGRADE_BROKEN:
        break;
    }
    return fail(fault, "the server's answer is not that of a WebSocket");
}

/* The message in the server's final Status (channel 3), if it is a failure; else "". Success there
 * means only that the stream has ended. */
static void read_failure(const struct attach *attach, char *ret, size_t size)
{
    const struct attach_channels *channels = &attach->channels;
    json_auto_t *status = json_loadb(channels->status, channels->status_length, 0, NULL);
    const char *word = json_string_value(json_object_get(status, "status"));
    ret[0] = '\0';
    bool is_none = channels->status_length == 0;
    if (is_none || (word && strcmp(word, "Success") == 0))
        return;
    api_refusal_text(channels->status, channels->status_length, ret, size);
}

/* The close frame has the same code after a failure. */
static bool take_close(struct attach *attach, struct attach_said *ret, struct api_fault *fault)
{
    char message[API_MESSAGE_LIMIT];
    attach->is_ended = true;
    read_failure(attach, message, sizeof(message));
    if (message[0] != '\0')
        return api_fault_set(fault, API_PROBLEM_REFUSED, "the pod's stream has failed: %.200s",
                             message);
    ret->word = ATTACH_WORD_END;
    return true;
}

/* false with the fault. */
static bool take_piece(struct attach *attach, const struct attach_piece *piece,
                       struct attach_said *ret, struct api_fault *fault)
{
    switch (piece->kind) {
    case ATTACH_NOTHING:
        return true;
    case ATTACH_IS_PING:
        answer_ping(attach, piece);
        return true;
    case ATTACH_IS_CLOSED:
        return take_close(attach, ret, fault);
    case ATTACH_BYTES:
        break;
    }
    *ret = (struct attach_said){
        .word = piece->channel == ATTACH_STDOUT ? ATTACH_WORD_STDOUT : ATTACH_WORD_STDERR,
        .bytes = piece->bytes,
        .length = piece->length,
    };
    return true;
}

ptrdiff_t attach_feed(struct attach *attach, const unsigned char *bytes, size_t length,
                      struct attach_said *ret, struct api_fault *fault)
{
    struct attach_piece piece;
    size_t taken = 0;
    *ret = (struct attach_said){.word = ATTACH_WORD_NONE};
    if (!attach->is_open)
        return feed_head(attach, bytes, length, ret, fault);
    if (attach->is_ended)
        return (ptrdiff_t)length; /* nothing counts behind a close frame */
    do {
        ptrdiff_t count =
            attach_channels_next(&attach->channels, bytes + taken, length - taken, &piece);
        if (count < 0)
            return fail(fault, "what comes is no frame of an API server");
        taken += (size_t)count;
        if (!take_piece(attach, &piece, ret, fault))
            return -1;
    } while (ret->word == ATTACH_WORD_NONE && piece.kind != ATTACH_NOTHING);
    return (ptrdiff_t)taken;
}

bool attach_is_whole(const struct attach *attach)
{
    return attach->is_ended;
}

unsigned int attach_protocol(const struct attach *attach)
{
    return attach->upgrade.protocol;
}
