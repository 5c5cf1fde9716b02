/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to an API server, many at once on one thread: libcurl's multi interface, with every
 * answer bounded in size and time. A server that is too busy (429, or 503 with Retry-After) is
 * asked again after the time that it says, as long as the request's own time lasts. A connection
 * that a request takes over (attach.h) is opened here too. Runs in the kubernetes backend; no
 * function but api_client_wait() waits.
 */
#pragma once

#include <curl/curl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "backends/kubernetes/api/api_fault.h"
#include "backends/kubernetes/api/api_server.h"

#define API_ANSWER_LIMIT     (16U << 20) /* a list of many pods is the longest */
#define API_LINE_LIMIT       (4U << 20)  /* of a watch: etcd holds no larger object by far */
#define API_TIME_MS          15000       /* for an answer that needs no waiting */
#define API_CONNECT_LIMIT_MS 5000
#define API_PATH_LIMIT       1024

struct api_client;
/* NULL where libcurl cannot be set up. */
struct api_client *api_client_new(void);
void api_client_free(struct api_client *client);

/* Waits for the extra descriptors or a call, at most timeout_ms (-1: no limit), and calls the done
 * functions that are due. -1 with errno where waiting itself fails. */
int api_client_wait(struct api_client *client, struct curl_waitfd *extra, size_t count,
                    int timeout_ms);

/* fault.problem is API_PROBLEM_NONE where the server has answered, whatever the status. For a
 * connection the status is 0. */
struct api_answer {
    struct api_fault fault;
    long status;
    uint64_t retry_after_ms; /* 0: it says nothing of that */
    bool was_paused;         /* a try before was answered with 503: it may have had its effect */
    const char *body;        /* with a NUL behind it; the call owns it */
    size_t length;
};

struct api_call;
/* The call is over and, unless it was for a connection, freed when this returns. It may start
 * others and cancel others. */
typedef void api_done(void *user, const struct api_answer *answer);
/* One line of a watch, without its end; the call owns the bytes. It may start and cancel calls, its
 * own as well. */
typedef void api_line(void *user, const char *bytes, size_t length);

struct api_request {
    const struct api_server *server;
    const char *method;
    const char *path;         /* from "/" on, already fit for a URL */
    const char *body;         /* JSON, NULL: none */
    const char *content_type; /* of the body; NULL: application/json */
    uint64_t timeout_ms;      /* 0: no limit */
    uint64_t delay_ms;        /* begins so much later */
    bool connection;          /* connect only: method, path and body are not used */
    api_line *line; /* NULL: the answer is kept whole; else only what is no whole line, and
                       the body of an answer other than 200 */
    api_done *done;
    void *user;
};

/* Begins; everything of the request but server and user is copied, and the server must outlive the
 * call. NULL when out of memory. */
struct api_call *api_call_start(struct api_client *client, const struct api_request *request);
/* Ends the call without an answer, or closes its connection. NULL is fine. */
void api_call_cancel(struct api_call *call);

/* For a connection whose done function was called. -1 with EAGAIN: not now; with any other errno:
 * the connection is broken. 0 from receive is the end, which over TLS only the server itself can
 * make. Received bytes may be buffered where poll() does not see them: wait for the descriptor only
 * after EAGAIN. Over TLS, the bytes that met EAGAIN must be the next to be sent, from the same
 * address. */
int api_connection_fd(const struct api_call *call);
ssize_t api_connection_send(struct api_call *call, const void *bytes, size_t length);
ssize_t api_connection_receive(struct api_call *call, void *bytes, size_t capacity);

/* The answer's JSON object (new) where the status is one from 200 to 299; else NULL with the fault.
 * what: the action in the message ("create the pod"). */
json_t *api_answer_take(const struct api_answer *answer, const char *what, struct api_fault *fault);
/* The server has refused to make the object, and no try of the request has made it. A conflict is
 * no such refusal: it may be with the object itself. */
bool api_answer_is_refusal(const struct api_answer *answer);
/* A conflict with another object of the cluster, as a quota that was changed meanwhile: nothing was
 * made, and the request can be sent again. */
bool api_answer_is_passing_conflict(const struct api_answer *answer);
/* api_refusal.c: the meaning of a Status object with that HTTP status. Pure code. */
void api_refusal_explain(long status, const char *body, size_t length, const char *what,
                         struct api_fault *fault);
/* The same for a request without an answer: one fault for each reason that needs another action of
 * the operator. words: the text in CURLOPT_ERRORBUFFER. */
void api_failure_explain(CURLcode result, const struct api_server *server, const char *words,
                         struct api_fault *fault);
/* The printable beginning of such a text, or of a Status object's message. */
void api_refusal_text(const char *body, size_t length, char *ret, size_t size);
