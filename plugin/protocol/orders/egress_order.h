/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order to the broker of endpoints (code-execute-egress) for one run: which endpoints the run
 * may reach, by which rules, and with which credentials. The plugin sends it once the run is
 * approved: one byte CONTROL_ENDPOINTS on the broker's control socket (channel.h), with the
 * EGRESS_FD_COUNT descriptors of enum egress_fd. The broker answers on EGRESS_FD_EVENTS
 * (egress_event.h).
 * A session has such a registration without endpoints: it keeps the listener, and nothing can be
 * reached by it. On EGRESS_FD_EVENTS each of its cells brings an order of its own, and its end ends
 * what that order allows (enum egress_word). Pure code, any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/run_description.h"
#include "protocol/wire.h"

#define EGRESS_ORDER_LIMIT      (UINT32_C(16) << 20) /* bytes; a longer one is refused unread */
#define EGRESS_ENDPOINTS_LIMIT  16                   /* of one run */
#define EGRESS_NAME_LIMIT       32                   /* bytes */
#define EGRESS_URL_LIMIT        2048
#define EGRESS_PRINCIPAL_LIMIT  1024
#define EGRESS_RULES_LIMIT      64 /* of one endpoint */
#define EGRESS_METHODS_LIMIT    16 /* of one rule */
#define EGRESS_METHOD_LIMIT     32 /* bytes */
#define EGRESS_PATHS_LIMIT      64 /* of one rule */
#define EGRESS_PATH_LIMIT       1024
#define EGRESS_HEADERS_LIMIT    32 /* of one list */
#define EGRESS_HEADER_LIMIT     2048
#define EGRESS_CREDENTIAL_LIMIT (16u << 10)
#define EGRESS_CA_LIMIT         (512u << 10)
#define EGRESS_IN_FLIGHT_LIMIT  64
#define EGRESS_TIMEOUT_LIMIT    UINT64_C(86400000) /* milliseconds */

enum egress_fd {
    EGRESS_FD_EVENTS, /* the run's own socket (SOCK_SEQPACKET); the gateway keeps the other end */
    EGRESS_FD_ORDER,  /* sealed memfd with the message of egress_order_encode() */
    EGRESS_FD_INTAKE, /* SOCK_SEQPACKET; its other end goes to the run's backend */
    EGRESS_FD_COUNT
};

/* From the plugin, on EGRESS_FD_EVENTS of a session: one byte. Where one is out of turn, the broker
 * ends the session's registration. */
enum egress_word {
    EGRESS_WORD_CELL = 'c', /* with the sealed memfd of its order: READY or REFUSED is the answer */
    EGRESS_WORD_CELL_ENDED = 'e', /* its RECORDs and CLOSED are the answer */
};

/* From the run's backend, on EGRESS_FD_INTAKE: one byte with one descriptor. */
enum egress_intake {
    EGRESS_INTAKE_LISTENER = 'L',   /* a listening TCP socket, at most one a run */
    EGRESS_INTAKE_CONNECTION = 'C', /* a connected stream socket */
    EGRESS_INTAKE_RELAY = 'M',      /* a stream socket with the frames of many connections
                                       (guest/channels/connection_relay.h), at most one a run */
};

enum egress_auth {
    EGRESS_AUTH_NONE,
    EGRESS_AUTH_BEARER,
    EGRESS_AUTH_BASIC,
    EGRESS_AUTH_HEADER,
    EGRESS_AUTH_QUERY,
    EGRESS_AUTH_COUNT
};

/* A request is allowed where one rule has its method and its path. */
struct egress_rule {
    char **methods; /* as in the request line, NULL-terminated; none: the rule allows nothing */
    char **paths;   /* globs behind the base URL's path, each begins with "/" */
};

/* 0 in requests: none is allowed. */
struct egress_limits {
    uint64_t requests;
    uint64_t request_bytes;  /* of one request's body */
    uint64_t response_bytes; /* of one answer's body */
    uint64_t timeout_ms;     /* of one request, from its head to the end of its answer */
    uint64_t in_flight;      /* requests at one time, at least 1 */
};

struct egress_endpoint {
    char *name;      /* [a-z][a-z0-9-]{0,31} */
    char *base_url;  /* https://host[:port][/path], checked and normalised by the policy; http only
                        where private_addresses is set and there is no credential */
    uint32_t tunnel; /* 1: CONNECT to the host and port of base_url; no rules, no credential */
    struct egress_rule *rules;
    size_t rule_count;
    uint32_t auth;     /* enum egress_auth */
    char *auth_name;   /* of the header or the query parameter; the user of basic; else "" */
    char *auth_prefix; /* ahead of the credential in a header; else "" */
    struct wire_bytes credential;
    char **request_headers; /* names, lower case, that pass beside the built-in ones */
    char **response_headers;
    char **headers; /* "name: value" that the operator adds */
    struct egress_limits limits;
    uint32_t private_addresses; /* 1: addresses that are not public are allowed */
    struct wire_bytes ca;       /* PEM; none: the system's */
};

struct egress_order {
    char run_id[RUN_ID_LENGTH + 1];
    char *principal;
    uint32_t session; /* 1: its cells bring their endpoints, and it has none itself */
    struct egress_endpoint *endpoints;
    size_t endpoint_count;
};

/* A new message of *ret_length bytes, NULL when out of memory or beyond a limit. The caller wipes
 * it (it holds credentials) and frees it. */
unsigned char *egress_order_encode(const struct egress_order *order, size_t *ret_length);
/* On success *ret owns copies (egress_order_clear()). On failure false and *ret is untouched: cut,
 * trailing bytes, another version, a value beyond its limit, two endpoints of one name, a name or
 * header with bytes that it must not have, a credential that would go over plain HTTP. */
bool egress_order_decode(const unsigned char *message, size_t length, struct egress_order *ret);
/* Wipes and releases. */
void egress_order_clear(struct egress_order *order);
