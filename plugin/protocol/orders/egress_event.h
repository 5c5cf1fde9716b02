/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of the broker of endpoints on a run's own socket (EGRESS_FD_EVENTS): one READY or
 * REFUSED at the start. The plugin shuts its end down for writing when the run has ended. Then come
 * at most EGRESS_RECORDS_LIMIT RECORDs and one CLOSED. Of a session they come for each cell
 * (egress_order.h). Pure code, any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EGRESS_RECORDS_LIMIT       100  /* of one run: the first ones */
#define EGRESS_EVENT_MESSAGE_LIMIT 4096 /* bytes */
#define EGRESS_TEXT_LIMIT          512
#define EGRESS_RECORD_PATH_LIMIT   1024
#define EGRESS_RECORD_METHOD_LIMIT 32
#define EGRESS_NO_ENDPOINT         UINT32_MAX

enum egress_event_type {
    EGRESS_EVENT_READY = 1, /* the order stands; the run may start */
    EGRESS_EVENT_REFUSED,   /* it does not; text says why */
    EGRESS_EVENT_RECORD,    /* one request */
    EGRESS_EVENT_CLOSED,    /* the run's endpoints are gone; always the last event of a run that was
                               READY and whose plugin still reads */
    EGRESS_EVENT_TYPE_COUNT
};

/* The decision on one request, and its name in results and audit. */
#define EGRESS_DECISIONS(X)       \
    X(ALLOWED, "allowed")         \
    X(DENIED, "denied")           \
    X(BUDGET, "budget_exhausted") \
    X(FAILED, "failed")

enum egress_decision {
#define X(constant, name) EGRESS_##constant,
    EGRESS_DECISIONS(X)
#undef X
        EGRESS_DECISION_COUNT
};

/* decision < EGRESS_DECISION_COUNT */
const char *egress_decision_name(enum egress_decision decision);

/* Its strings are printable ASCII, as those of every event: the broker escapes other bytes. */
struct egress_record {
    uint32_t endpoint; /* its index in the order; EGRESS_NO_ENDPOINT: none of the run's */
    char *method;
    char *path;            /* without the query */
    char query_sha256[65]; /* "": there was no query */
    uint32_t status;       /* that the program got; 0: none */
    uint32_t decision;     /* enum egress_decision */
    char *reason;          /* "": none */
    uint64_t bytes_in;     /* of bodies, towards the program */
    uint64_t bytes_out;    /* towards the upstream */
    uint64_t duration_ms;
};

struct egress_totals {
    uint64_t requests;
    uint64_t denied;  /* of them: by policy or budget */
    uint64_t omitted; /* records beyond EGRESS_RECORDS_LIMIT */
    uint64_t bytes_in;
    uint64_t bytes_out;
    uint64_t between; /* of a cell: requests that were refused since the cell before; no records */
};

struct egress_event {
    uint32_t type; /* enum egress_event_type */
    char *text;    /* of REFUSED */
    struct egress_record record;
    struct egress_totals totals;
};

/* Writes to message; the length, 0 where a member is beyond its limit. */
size_t egress_event_encode(const struct egress_event *event,
                           unsigned char message[EGRESS_EVENT_MESSAGE_LIMIT]);
/* On success *ret owns copies (egress_event_clear()). false and *ret untouched where the bytes are
 * no event of this version or hold a value out of range. */
bool egress_event_decode(const unsigned char *message, size_t length, struct egress_event *ret);
void egress_event_clear(struct egress_event *event);
