/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the life of a request, and its body on the way in: see exchange.h. Runs in the broker. */
#include "backends/egress/server/exchange.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/sha256.h"

#define UPLOAD_LIMIT                                                                             \
    (64u << 10)                  /* bytes of a body that wait; a shorter body is sent as a whole \
                                  */
#define DOWNLOAD_LOW (32u << 10) /* from here libcurl goes on */
#define DISCARD_LIMIT                                                                        \
    (1u << 20)               /* of the body of a refused request, so that its answer is read \
                              */
#define REFUSED_MS     15000 /* for a refused request and its answer */
#define LATE_ANSWER_MS 5000  /* for an answer that says that the time is up */

static void shut_connection(struct exchange *exchange)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info)
        (void)shutdown(info->connect_fd, SHUT_RDWR);
    exchange->broken = true;
    *exchange->context->resumed = true;
}

static void drop_transfer(struct exchange *exchange)
{
    if (exchange->started && !exchange->transfer_ended)
        exchange->endpoint->in_flight--;
    transfer_abort(TAKE_POINTER(exchange->transfer));
    exchange->transfer_ended = true;
}

/* Its time is up. While the program sends or reads, nothing can be said any more. */
static void on_time(struct timer *timer)
{
    struct exchange *exchange = CONTAINER_OF(timer, struct exchange, timer);
    bool can_answer = exchange->body_ended && !exchange->queued && !exchange->is_own;
    drop_transfer(exchange);
    exchange->discards_body = true;
    if (exchange->accepted && !exchange->is_own)
        denial_set(&exchange->denial, 504, EGRESS_FAILED, "upstream_timeout",
                   "the request was not answered within %" PRIu64 " ms",
                   exchange->endpoint->order->limits.timeout_ms);
    if (!can_answer) {
        shut_connection(exchange);
        exchange_resume(exchange);
        return;
    }
    exchange->is_own = true;
    event_loop_after(exchange->context->loop, timer, LATE_ANSWER_MS);
}

struct exchange *exchange_new(const struct exchange_context *context,
                              struct MHD_Connection *connection, const char *raw_target)
{
    struct exchange *exchange = calloc(1, sizeof(*exchange));
    if (!exchange)
        return NULL;
    exchange->context = context;
    exchange->connection = connection;
    exchange->began_ms = monotonic_ms();
    exchange->timer.fire = on_time;
    exchange->announced = TRANSFER_UNKNOWN;
    exchange->raw_target = strdup(raw_target);
    return exchange;
}

static void suspend(struct exchange *exchange)
{
    MHD_suspend_connection(exchange->connection);
    exchange->suspended = true;
}

void exchange_resume(struct exchange *exchange)
{
    if (!exchange->suspended)
        return;
    exchange->suspended = false;
    MHD_resume_connection(exchange->connection);
    *exchange->context->resumed = true;
}

static void begin(struct exchange *exchange, const char *method, const char *version)
{
    exchange->head_seen = true;
    exchange_judge(exchange, method, version);
    exchange->discards_body = !exchange->accepted;
    if (exchange->accepted)
        exchange->redaction.redaction = exchange->endpoint->redaction;
    event_loop_after(exchange->context->loop, &exchange->timer,
                     exchange->accepted ? exchange->endpoint->order->limits.timeout_ms
                                        : REFUSED_MS);
}

static enum MHD_Result take_body(struct exchange *exchange, const char *bytes, size_t *length)
{
    size_t taken = *length;
    uint64_t most = exchange->accepted ? exchange->endpoint->order->limits.request_bytes : 0;
    if (exchange->discards_body || exchange->transfer_ended) {
        exchange->body_received += taken;
        *length = 0;
        if (exchange->body_received > most && exchange->body_received - most > DISCARD_LIMIT)
            return MHD_NO;
        return MHD_YES;
    }
    if (taken > most - exchange->body_received) { /* it is never beyond most here */
        drop_transfer(exchange);
        exchange->discards_body = true;
        exchange->body_received += taken;
        *length = 0;
        if (!exchange->is_own)
            exchange_deny(exchange, 413, EGRESS_BUDGET, "budget_exhausted",
                          "the request's body is longer than %" PRIu64 " bytes", most);
        return MHD_YES;
    }
    size_t room =
        UPLOAD_LIMIT > exchange->upload.length ? UPLOAD_LIMIT - exchange->upload.length : 0;
    if (taken > room)
        taken = room;
    if (taken > 0 && !byte_queue_add(&exchange->upload, bytes, taken))
        return MHD_NO;
    exchange->body_received += taken;
    *length -= taken;
    if (*length > 0)
        suspend(exchange);
    return MHD_YES;
}

enum MHD_Result exchange_handle(struct exchange *exchange, const char *method, const char *version,
                                const char *bytes, size_t *length)
{
    if (exchange->queued)
        return MHD_YES;
    if (!exchange->head_seen) {
        begin(exchange, method, version);
        /* A program that waits for "100 Continue", or has much to send, is told at once. */
        bool long_body = exchange->body_length > DISCARD_LIMIT ||
                         MHD_lookup_connection_value(exchange->connection, MHD_HEADER_KIND,
                                                     MHD_HTTP_HEADER_EXPECT);
        return exchange->is_own && (exchange->close || long_body) ? exchange_answer(exchange)
                                                                  : MHD_YES;
    }
    if (*length > 0)
        return take_body(exchange, bytes, length);
    exchange->body_ended = true;
    if (exchange_has_answer(exchange))
        return exchange_answer(exchange);
    suspend(exchange);
    return MHD_YES;
}

static bool start(struct exchange *exchange)
{
    const struct egress_endpoint *order = exchange->endpoint->order;
    bool whole = exchange->body_ended;
    struct transfer_request request = {
        .endpoint = order,
        .method = exchange->method,
        .path = exchange->target.path,
        .query = exchange->target.query,
        .headers = TAKE_POINTER(exchange->headers),
        .body = whole && exchange->upload.length ? byte_queue_first(&exchange->upload) : NULL,
        .body_length = whole ? exchange->upload.length : exchange->body_length,
    };
    exchange->started = true;
    exchange->sent_whole = whole;
    exchange->endpoint->in_flight++;
    exchange->transfer =
        transfer_start(exchange->endpoint->pool, &request, &exchange_handler, exchange);
    if (exchange->transfer)
        return true;
    drop_transfer(exchange);
    exchange_deny(exchange, 503, EGRESS_FAILED, "out_of_memory", "the broker is out of memory");
    return true;
}

static bool can_start(const struct exchange *exchange)
{
    return exchange->accepted && !exchange->started && !exchange->is_own && !exchange->broken &&
           (exchange->body_ended || exchange->upload.length >= UPLOAD_LIMIT) &&
           exchange->endpoint->in_flight < exchange->endpoint->order->limits.in_flight;
}

/* What libcurl waits for is there. */
static bool resume_transfer(struct exchange *exchange)
{
    if (!exchange->transfer)
        return false;
    bool upload = exchange->upload_waits && (exchange->upload.length > 0 || exchange->body_ended);
    bool download = exchange->download_waits && exchange->download.length <= DOWNLOAD_LOW;
    if (!upload && !download)
        return false;
    exchange->upload_waits &= !upload;
    exchange->download_waits &= !download;
    transfer_resume(exchange->transfer, upload, download);
    return true;
}

/* What the program's connection waits for is there. */
static bool can_resume(const struct exchange *exchange)
{
    if (!exchange->suspended)
        return false;
    if (exchange->broken)
        return true;
    if (exchange->queued)
        return exchange->download.length > 0 || exchange->transfer_ended;
    if (!exchange->body_ended)
        return exchange->upload.length < UPLOAD_LIMIT / 2 || exchange->transfer_ended ||
               exchange->discards_body;
    return exchange_has_answer(exchange);
}

bool exchange_settle(struct exchange *exchange)
{
    bool done = false;
    if (can_start(exchange))
        done = start(exchange);
    done |= resume_transfer(exchange);
    done |= exchange_release_held(exchange);
    if (can_resume(exchange)) {
        exchange_resume(exchange);
        done = true;
    }
    return done;
}

static void hash_query(const char *query, char ret[SHA256_TEXT_LENGTH + 1])
{
    struct sha256 hash;
    sha256_begin(&hash);
    sha256_add(&hash, query, strlen(query));
    sha256_end(&hash, ret);
}

/* A whole body stays where it is. */
static uint64_t sent_bytes(const struct exchange *exchange)
{
    if (!exchange->started)
        return 0;
    return exchange->body_received - (exchange->sent_whole ? 0 : exchange->upload.length);
}

/* Of a request for none of the run's endpoints the whole of it. */
static char *recorded_path(const struct exchange *exchange)
{
    const char *path = exchange->endpoint ? exchange->target.path : exchange->raw_target;
    CLEANUP_FREE char *whole = path ? strndup(path, strcspn(path, "?")) : NULL;
    return whole ? printable_text(whole, EGRESS_RECORD_PATH_LIMIT) : NULL;
}

static void record(struct exchange *exchange)
{
    struct egress_record record = {
        .endpoint = exchange->endpoint
                        ? endpoints_index(exchange->context->endpoints, exchange->endpoint)
                        : EGRESS_NO_ENDPOINT,
        .method = TAKE_POINTER(exchange->method),
        .path = recorded_path(exchange),
        .status = exchange->queued ? exchange->status : 0,
        .decision = exchange->denial.code ? exchange->denial.decision : EGRESS_ALLOWED,
        .reason = exchange->denial.code ? strdup(exchange->denial.reason) : NULL,
        .bytes_in = exchange->passed,
        .bytes_out = sent_bytes(exchange),
        .duration_ms = monotonic_ms() - exchange->began_ms,
    };
    if (exchange->target.query)
        hash_query(exchange->target.query, record.query_sha256);
    if (!exchange->denial.code &&
        (!exchange->queued || exchange->broken || !exchange->transfer_ended)) {
        record.decision = EGRESS_FAILED;
        record.reason = strdup("the connection ended before the answer did");
    }
    records_add(exchange->context->records, &record);
}

void exchange_free(struct exchange *exchange)
{
    drop_transfer(exchange);
    event_loop_cancel(exchange->context->loop, &exchange->timer);
    if (exchange->head_seen)
        record(exchange);
    exchange_forget_headers(exchange);
    header_list_free(exchange->headers);
    redaction_stream_clear(&exchange->redaction);
    byte_queue_clear(&exchange->upload);
    byte_queue_clear(&exchange->download);
    target_clear(&exchange->target);
    free(exchange->raw_target);
    free(exchange->method);
    free(exchange);
}
