/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request of a program, from its head to the end of its answer. libmicrohttpd reads it and
 * writes the answer; in between a transfer fetches that. Each side waits for the other: exchange.c
 * has the request's way in, exchange_judge.c the decision, exchange_answer.c the way back. One
 * thread.
 */
#pragma once

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/common/event_loop.h"
#include "backends/egress/loop/byte_queue.h"
#include "backends/egress/rules/target.h"
#include "backends/egress/upstream/answer.h"
#include "backends/egress/upstream/endpoints.h"
#include "backends/egress/upstream/records.h"
#include "backends/egress/upstream/transfer.h"

#define EXCHANGE_HEADERS_LIMIT 64 /* of an answer, that pass */

/* What all requests of a run share. */
struct exchange_context {
    struct event_loop *loop;
    struct endpoints *endpoints;
    struct records *records;
    bool *resumed;         /* set when libmicrohttpd has to look at its connections again */
    bool ends_connections; /* each behind its first answer */
};

struct answer_header {
    char *name;
    char *value;
};

struct exchange {
    const struct exchange_context *context;
    struct MHD_Connection *connection;
    struct exchange *next;
    struct exchange *previous;
    uint64_t began_ms;
    struct timer timer;
    char *raw_target;
    struct target target;
    char *method;
    struct endpoint_state *endpoint; /* NULL: none of the run's */
    struct curl_slist *headers;      /* of the request, that pass */
    /* The request's body. */
    bool head_seen;
    bool body_ended;
    bool discards_body;
    uint64_t body_length; /* as announced; TRANSFER_UNKNOWN */
    uint64_t body_received;
    struct byte_queue upload;
    /* The transfer. */
    bool accepted; /* by the rules, and waits for its turn or has had it */
    bool started;
    bool sent_whole; /* the body was there before the transfer began */
    bool transfer_ended;
    bool upload_waits;   /* libcurl, for more of the body */
    bool download_waits; /* libcurl, for room */
    struct transfer *transfer;
    /* The answer. */
    bool head_ended;
    bool broken; /* while the answer was under way */
    bool is_own; /* the broker's: denial */
    bool queued; /* libmicrohttpd has it */
    bool close;  /* the connection, behind it */
    unsigned status;
    uint64_t announced; /* length of the upstream's body; TRANSFER_UNKNOWN */
    uint64_t received;
    uint64_t passed;
    struct answer_header answer_headers[EXCHANGE_HEADERS_LIMIT];
    size_t answer_header_count;
    size_t answer_header_bytes;
    const char *unfit; /* why the answer cannot be passed on; NULL */
    struct byte_queue download;
    struct redaction_stream redaction;
    struct denial denial;
    /* Of the connection, as libmicrohttpd sees it. */
    bool suspended;
};

/* NULL when out of memory. */
struct exchange *exchange_new(const struct exchange_context *context,
                              struct MHD_Connection *connection, const char *raw_target);
/* libmicrohttpd has the head, some of the body, or all of it. */
enum MHD_Result exchange_handle(struct exchange *exchange, const char *method, const char *version,
                                const char *bytes, size_t *length);
/* Does what can be done now. Whether anything was. */
bool exchange_settle(struct exchange *exchange);
/* Lets a suspended connection go on, ahead of its end. */
void exchange_resume(struct exchange *exchange);
/* Records it and releases everything; ends a transfer that is under way. */
void exchange_free(struct exchange *exchange);

/* exchange_judge.c: reads the head. The request is accepted then, or there is a denial. */
void exchange_judge(struct exchange *exchange, const char *method, const char *version);

/* exchange_answer.c */
extern const struct transfer_handler exchange_handler;
/* The broker's own answer in place of the upstream's, which must not have begun. */
#define exchange_deny(exchange, ...)                  \
    do {                                              \
        denial_set(&(exchange)->denial, __VA_ARGS__); \
        (exchange)->is_own = true;                    \
    } while (0)
/* Whether there is something to answer now. */
bool exchange_has_answer(const struct exchange *exchange);
/* While the program waits, what no credential can begin with need not be held back. */
bool exchange_release_held(struct exchange *exchange);
/* Hands it to libmicrohttpd. */
enum MHD_Result exchange_answer(struct exchange *exchange);
void exchange_forget_headers(struct exchange *exchange);
