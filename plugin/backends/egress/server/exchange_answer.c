/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the way of an answer, from the upstream to the program: see exchange.h. Runs in the broker.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "backends/egress/rules/headers.h"
#include "backends/egress/server/exchange.h"
#include "base/cleanup.h"

#define DOWNLOAD_LIMIT     (128u << 10) /* bytes of an answer that wait */
#define HEADER_BYTES_LIMIT (32u << 10)
#define BLOCK              (32u << 10)

static void add_clean(void *user, const void *bytes, size_t length)
{
    struct exchange *exchange = user;
    if (byte_queue_add(&exchange->download, bytes, length))
        exchange->passed += length;
    else
        exchange->unfit = "the broker is out of memory";
}

static bool has_credential(const struct exchange *exchange)
{
    return exchange->redaction.redaction && !redaction_empty(exchange->redaction.redaction);
}

void exchange_forget_headers(struct exchange *exchange)
{
    for (size_t i = 0; i < exchange->answer_header_count; i++) {
        free(exchange->answer_headers[i].name);
        free(exchange->answer_headers[i].value);
    }
    exchange->answer_header_count = 0;
    exchange->answer_header_bytes = 0;
}

static void on_status(void *user, unsigned status)
{
    struct exchange *exchange = user;
    exchange->status = status;
    exchange->announced = TRANSFER_UNKNOWN;
    exchange->unfit = status == 101 ? "the answer changes the protocol" : NULL;
    exchange_forget_headers(exchange);
}

static void add_text(void *user, const void *bytes, size_t length)
{
    (void)byte_queue_add(user, bytes, length);
}

/* The value as the program may see it, new; NULL: not at all. */
static char *clean_value(const struct exchange *exchange, const char *name, const char *value)
{
    CLEANUP(byte_queue_clear) struct byte_queue text = {0};
    const struct egress_endpoint *order = exchange->endpoint->order;
    if (!header_value_is_good(value))
        return NULL;
    if (has_credential(exchange)) {
        (void)redaction_whole(exchange->redaction.redaction, value, strlen(value), add_text, &text);
        if (!byte_queue_add(&text, "", 1))
            return NULL;
        value = (const char *)byte_queue_first(&text);
    }
    if (strcasecmp(name, "location") == 0 || strcasecmp(name, "content-location") == 0)
        return local_location(order, value);
    return strcasecmp(name, "link") == 0 ? local_links(order, value) : strdup(value);
}

static void on_header(void *user, const char *name, const char *value)
{
    struct exchange *exchange = user;
    bool is_encoding = strcasecmp(name, "content-encoding") == 0;
    if (strcasecmp(name, "content-length") == 0) {
        if (*value && strspn(value, "0123456789") == strlen(value) && strlen(value) < 19)
            exchange->announced = strtoull(value, NULL, 10);
        return;
    }
    /* The redaction could not look into it. */
    if (is_encoding && has_credential(exchange) && strcasecmp(value, "identity") != 0)
        exchange->unfit = "the answer is compressed, which was not asked for";
    if (!is_encoding && !response_header_passes(exchange->endpoint->order, name))
        return;
    exchange->answer_header_bytes += strlen(name) + strlen(value);
    if (exchange->answer_header_count == EXCHANGE_HEADERS_LIMIT ||
        exchange->answer_header_bytes > HEADER_BYTES_LIMIT) {
        exchange->unfit = "the answer has too many headers";
        return;
    }
    CLEANUP_FREE char *clean = clean_value(exchange, name, value);
    CLEANUP_FREE char *copy = strdup(name);
    if (clean && copy)
        exchange->answer_headers[exchange->answer_header_count++] =
            (struct answer_header){TAKE_POINTER(copy), TAKE_POINTER(clean)};
}

static void on_head_end(void *user)
{
    struct exchange *exchange = user;
    exchange->head_ended = !exchange->unfit;
}

/* The upstream's answer stops here. */
static void give_up(struct exchange *exchange, unsigned status, enum egress_decision decision,
                    const char *code, const char *text)
{
    denial_set(&exchange->denial, status, decision, code, "%s", text);
    if (exchange->queued)
        exchange->broken = true;
    else
        exchange->is_own = true;
}

static enum transfer_take on_body(void *user, const void *bytes, size_t length)
{
    struct exchange *exchange = user;
    uint64_t most = exchange->endpoint->order->limits.response_bytes;
    if (exchange->unfit)
        return TRANSFER_STOP;
    if (length > most - exchange->received ||
        (exchange->announced != TRANSFER_UNKNOWN && exchange->announced > most)) {
        denial_set(&exchange->denial, 429, EGRESS_BUDGET, "budget_exhausted",
                   "the answer is longer than %" PRIu64 " bytes", most);
        return TRANSFER_STOP;
    }
    if (exchange->download.length >= DOWNLOAD_LIMIT) {
        exchange->download_waits = true;
        return TRANSFER_PAUSE;
    }
    exchange->received += length;
    if (has_credential(exchange))
        redaction_feed(&exchange->redaction, bytes, length, add_clean, exchange);
    else
        add_clean(exchange, bytes, length);
    return exchange->unfit ? TRANSFER_STOP : TRANSFER_TAKEN;
}

bool exchange_release_held(struct exchange *exchange)
{
    if (!exchange->queued || !exchange->suspended || exchange->transfer_ended ||
        exchange->download.length > 0 || exchange->redaction.held_length == 0)
        return false;
    redaction_release(&exchange->redaction, add_clean, exchange);
    return exchange->download.length > 0;
}

static size_t on_upload(void *user, void *bytes, size_t capacity)
{
    struct exchange *exchange = user;
    if (exchange->discards_body)
        return TRANSFER_GIVE_UP;
    size_t length = byte_queue_take(&exchange->upload, bytes, capacity);
    if (length > 0 || exchange->body_ended)
        return length;
    exchange->upload_waits = true;
    return TRANSFER_NOTHING;
}

static void on_done(void *user, enum transfer_fault fault, const char *text)
{
    static const struct {
        unsigned status;
        const char *code;
    } faults[TRANSFER_FAULT_COUNT] = {
        [TRANSFER_UNREACHABLE] = {502, "upstream_unreachable"},
        [TRANSFER_TIMEOUT] = {504, "upstream_timeout"},
        [TRANSFER_TLS] = {502, "upstream_tls"},
        [TRANSFER_ADDRESS] = {502, "address_refused"},
        [TRANSFER_PROTOCOL] = {502, "upstream_protocol"},
    };
    struct exchange *exchange = user;
    exchange->transfer = NULL; /* gone behind this call */
    exchange->transfer_ended = true;
    exchange->endpoint->in_flight--;
    if (exchange->denial.code) {
        struct denial denial = exchange->denial;
        give_up(exchange, denial.status, denial.decision, denial.code, denial.reason);
    } else if (exchange->unfit) {
        give_up(exchange, 502, EGRESS_FAILED, "upstream_protocol", exchange->unfit);
    } else if (fault == TRANSFER_OK && exchange->head_ended) {
        if (has_credential(exchange))
            redaction_flush(&exchange->redaction, add_clean, exchange);
        if (exchange->unfit)
            give_up(exchange, 502, EGRESS_FAILED, "upstream_protocol", exchange->unfit);
    } else if (fault == TRANSFER_OK) {
        give_up(exchange, 502, EGRESS_FAILED, "upstream_protocol", "the answer has no head");
    } else if (fault == TRANSFER_ADDRESS) {
        char refused[EGRESS_TEXT_LIMIT / 2];
        (void)snprintf(refused, sizeof(refused),
                       "the endpoint's name leads to an address that is not allowed (%s)", text);
        give_up(exchange, 502, EGRESS_FAILED, "address_refused", refused);
    } else {
        give_up(exchange, faults[fault].status, EGRESS_FAILED, faults[fault].code, text);
    }
}

const struct transfer_handler exchange_handler = {
    .status = on_status,
    .header = on_header,
    .head_end = on_head_end,
    .body = on_body,
    .upload = on_upload,
    .done = on_done,
};

bool exchange_has_answer(const struct exchange *exchange)
{
    return exchange->is_own || exchange->broken || exchange->head_ended;
}

/* More of the answer for libmicrohttpd. Suspended until there is, as it would ask again at once. */
static ssize_t read_answer(void *user, uint64_t position, char *bytes, size_t capacity)
{
    (void)position;
    struct exchange *exchange = user;
    if (exchange->broken)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    size_t length = byte_queue_take(&exchange->download, bytes, capacity);
    if (length > 0)
        return (ssize_t)length;
    if (exchange->transfer_ended)
        return MHD_CONTENT_READER_END_OF_STREAM;
    exchange->suspended = true;
    MHD_suspend_connection(exchange->connection);
    return 0;
}

static struct MHD_Response *own_response(struct exchange *exchange)
{
    const struct egress_endpoint *order = exchange->endpoint ? exchange->endpoint->order : NULL;
    char *text = denial_text(&exchange->denial, order);
    if (!text)
        return NULL;
    struct MHD_Response *response =
        MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE);
    if (!response) {
        free(text);
        return NULL;
    }
    exchange->status = exchange->denial.status;
    (void)MHD_add_response_header(response, "content-type", "application/json");
    return response;
}

/* A whole answer goes out with its head in one write. */
static struct MHD_Response *whole_response(struct exchange *exchange)
{
    size_t length = exchange->download.length;
    char *bytes = malloc(length ? length : 1);
    if (!bytes)
        return NULL;
    (void)byte_queue_take(&exchange->download, bytes, length);
    struct MHD_Response *response =
        MHD_create_response_from_buffer(length, bytes, MHD_RESPMEM_MUST_FREE);
    if (!response)
        free(bytes);
    return response;
}

static struct MHD_Response *upstream_response(struct exchange *exchange)
{
    bool is_head = strcmp(exchange->method, "HEAD") == 0;
    bool whole = exchange->transfer_ended && !is_head;
    bool known = exchange->announced != TRANSFER_UNKNOWN && (is_head || !has_credential(exchange));
    struct MHD_Response *response =
        whole ? whole_response(exchange)
              : MHD_create_response_from_callback(known ? exchange->announced : MHD_SIZE_UNKNOWN,
                                                  BLOCK, read_answer, exchange, NULL);
    for (size_t i = 0; response && i < exchange->answer_header_count; i++)
        (void)MHD_add_response_header(response, exchange->answer_headers[i].name,
                                      exchange->answer_headers[i].value);
    return response;
}

enum MHD_Result exchange_answer(struct exchange *exchange)
{
    if (exchange->broken)
        return MHD_NO;
    struct MHD_Response *response =
        exchange->is_own ? own_response(exchange) : upstream_response(exchange);
    if (!response)
        return MHD_NO;
    if (exchange->close || exchange->context->ends_connections)
        (void)MHD_add_response_header(response, "connection", "close");
    enum MHD_Result result = MHD_queue_response(exchange->connection, exchange->status, response);
    exchange->queued = result == MHD_YES;
    MHD_destroy_response(response);
    return result;
}
