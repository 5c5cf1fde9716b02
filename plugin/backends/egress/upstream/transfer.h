/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One exchange with an upstream: what libcurl is told for it, and what comes back. Where the
 * request goes is the policy's base URL and a normalised path; the connection is made to an address
 * that was looked at in the very call that makes its socket. One thread.
 */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/egress/upstream/pool.h"
#include "protocol/orders/egress_order.h"

#define TRANSFER_UNKNOWN UINT64_MAX
#define TRANSFER_NOTHING SIZE_MAX /* of upload(): not yet */
#define TRANSFER_GIVE_UP (SIZE_MAX - 1)

/* Why it has failed, and the code that the program gets. */
enum transfer_fault {
    TRANSFER_OK,
    TRANSFER_UNREACHABLE,
    TRANSFER_TIMEOUT,
    TRANSFER_TLS,
    TRANSFER_ADDRESS,  /* of a class that the policy does not allow; text names it */
    TRANSFER_PROTOCOL, /* the answer is none that can be passed on */
    TRANSFER_FAULT_COUNT
};

enum transfer_take { TRANSFER_TAKEN, TRANSFER_PAUSE, TRANSFER_STOP };

/* All are called from within the loop's turn; transfer_abort() must not be called from one. */
struct transfer_handler {
    /* A line of the head of the final answer; ahead of it status(), which empties what came of an
     * earlier one. */
    void (*status)(void *user, unsigned status);
    void (*header)(void *user, const char *name, const char *value);
    void (*head_end)(void *user);
    enum transfer_take (*body)(void *user, const void *bytes, size_t length);
    /* Bytes of the request's body: how many, 0 at its end, TRANSFER_NOTHING, TRANSFER_GIVE_UP. */
    size_t (*upload)(void *user, void *bytes, size_t capacity);
    /* The last call. text is of libcurl or of ours, without anything of the request. */
    void (*done)(void *user, enum transfer_fault fault, const char *text);
};

struct transfer_request {
    const struct egress_endpoint *endpoint;
    const char *method;
    const char *path;           /* normalised, behind the base URL */
    const char *query;          /* NULL: none */
    struct curl_slist *headers; /* that pass; taken over */
    const void *body;           /* the whole of it; NULL: it is asked for by upload() */
    uint64_t body_length;       /* TRANSFER_UNKNOWN: in chunks; 0 and no body: there is none */
};

struct transfer;

/* NULL: out of memory, or libcurl does not take it. */
struct transfer *transfer_start(struct pool *pool, const struct transfer_request *request,
                                const struct transfer_handler *handler, void *user);
/* Goes on with a direction that was paused, from outside of the handler's calls. */
void transfer_resume(struct transfer *transfer, bool upload, bool download);
/* Ends it without done(). NULL is fine. */
void transfer_abort(struct transfer *transfer);

/* A connection to host and port of the base URL, without TLS, for a tunnel: done() is called when
 * it is there. */
struct transfer *transfer_connect(struct pool *pool, const struct egress_endpoint *endpoint,
                                  const struct transfer_handler *handler, void *user);
/* From within done(): the socket, the caller's to close; -1 with errno. */
int transfer_take_socket(struct transfer *transfer);

/* Calls done() for those that have ended, and forgets them. */
void transfers_finish(CURLM *multi);
/* Header lists hold credentials. NULL is fine. */
void header_list_free(struct curl_slist *list);
/* false when out of memory, the list is as before. */
bool header_list_add(struct curl_slist **list, const char *name, const char *value);
