/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The socket of --control, at which an operator asks a running server for the sessions of its
 * provider, and ends one. A client sends one line of JSON and gets one:
 *
 *   {"command": "sessions"}                 {"sessions": [...]}
 *   {"command": "end_session", "id": ID}    {"ended": ID}
 *   anything else                           {"error": {"code", "message", ...}}
 *
 * Only the server's own user and root are let in. The server's loop serves it; nothing here waits.
 * Main thread.
 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/failure.h"
#include "host/provider.h"
#include "mcp/wire/line_reader.h"
#include "mcp/wire/listener.h"

#define CONTROL_CLIENTS 4u
#define CONTROL_EVENTS  (1u + CONTROL_CLIENTS)

struct control_client {
    int fd; /* -1: none */
    struct line_reader reader;
    char *answer; /* owned; NULL: it has not asked yet */
    size_t length, sent;
    uint64_t deadline_ms;
};

struct control {
    const struct provider *provider;
    struct listener listener;
    struct control_client clients[CONTROL_CLIENTS];
};

/* path NULL: nobody can connect. Close with control_close() in any case. The directory must be one
 * that nobody else may write to. */
bool control_open(const char *path, const struct provider *provider, struct control *ret,
                  struct failure *failure);
void control_close(struct control *control);

/* What poll() is to wait for, and for how long at most (-1: for ever). */
void control_fill_events(const struct control *control, struct pollfd events[CONTROL_EVENTS]);
int control_timeout(const struct control *control);

/* After poll(): accepts, reads, answers, and gives up on clients that take too long. */
void control_serve(struct control *control, const struct pollfd events[CONTROL_EVENTS]);
