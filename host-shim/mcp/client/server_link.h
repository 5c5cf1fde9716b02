/* SPDX-License-Identifier: Apache-2.0 */
/*
 * toolhost as the client of one server: its process, the handshake, its list of tools, and requests
 * and answers by number. All of it belongs to the thread of the servers and never blocks. What a
 * server sends is a stranger's.
 */
#pragma once

#include <jansson.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mcp/client/server_config.h"
#include "mcp/client/server_process.h"
#include "mcp/client/tool_reply.h"
#include "mcp/wire/line_reader.h"

#define LINK_LINE_LIMIT \
    (TOOL_REPLY_LIMIT + 65536u) /* of an answer, as long as a provider takes one */
#define LINK_UNSENT_LIMIT (16u << 20)
#define LINK_STARTS       5u /* within LINK_STARTS_MS */
#define LINK_STARTS_MS    60000u
#define LINK_START_MS     20000u /* from the start of the process to the list of its tools */

enum link_state {
    LINK_DOWN,
    LINK_STARTING, /* handshake, and the first list of tools */
    LINK_READY,
    LINK_ENDING,
};

enum link_events {
    LINK_EVENT_OUTPUT,
    LINK_EVENT_INPUT,
    LINK_EVENT_LOG,
    LINK_EVENT_END,
    LINK_EVENTS,
};

struct server_link;

/* What the owner hears of, from inside link_serve() and link_tend(). */
struct link_listener {
    /* message answers the request of that number; NULL: it was there and could not be used, why
     * says so. */
    void (*answered)(void *user, struct server_link *link, json_int_t number, const json_t *message,
                     const char *why);
    /* The tools that programs may call, taken over. */
    void (*listed)(void *user, struct server_link *link, json_t *definitions);
    /* It is down now; all its requests have failed. */
    void (*lost)(void *user, struct server_link *link, const char *why);
    void *user;
};

struct server_link {
    const struct server_config *config;
    const struct link_listener *listener;
    const json_t *own; /* names that are never offered */
    enum link_state state;
    struct server_process process;
    bool modern; /* 2026-07-28: no handshake, each request says what it speaks */
    struct line_reader answers, log;
    bool is_skipping; /* an answer that is too long, whose number is not known yet */
    uint64_t skipped; /* bytes of it */
    char *unsent;     /* owned */
    size_t unsent_length;
    json_int_t last_number;
    const char *own_method; /* of toolhost's own request under way, own_number; NULL: none */
    json_int_t own_number;
    uint64_t own_deadline;
    json_t *listing; /* the list so far; owned */
    unsigned pages;
    bool list_changed;
    uint64_t list_at; /* not before */
    unsigned notices; /* about this process */
    uint64_t starts[LINK_STARTS];
    unsigned start_count;
};

void link_init(struct server_link *link, const struct server_config *config,
               const struct link_listener *listener, const json_t *own);
void link_clear(struct server_link *link);

/* One that is down. false: it is down still, and why (lent) says so. */
bool link_start(struct server_link *link, char *ret_why, size_t why_size);
/* The number of a request to call that tool, of a link that is ready; 0: the server does not keep
 * up. arguments: JSON on one line, which is sent as it is. */
json_int_t link_call(struct server_link *link, const char *tool, const char *arguments);
/* Tells the server that an answer is wanted no more. */
void link_cancel(struct server_link *link, json_int_t number, const char *reason);
/* Asks the server to end. */
void link_begin_end(struct server_link *link);

void link_fill_events(const struct server_link *link, struct pollfd events[LINK_EVENTS]);
void link_serve(struct server_link *link, const struct pollfd events[LINK_EVENTS]);
/* Does what is due; when there is more (monotonic_ms()), 0: at nothing but an event. */
uint64_t link_tend(struct server_link *link);
