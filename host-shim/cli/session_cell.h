/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cells of toolhost session: each is one call of the tool, in the session that the first of
 * them has begun. What the result says of that session decides where the next cell goes. Main
 * thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "files/lent_files.h"
#include "host/tool_call.h"
#include "options/options.h"

#define SESSION_ID_SIZE 128

struct session_cells {
    const struct options *options;
    const char *language;
    int out;
    int signal_fd;
    struct open_tool tool;
    json_t *settings;             /* owned: of every cell's input */
    json_t *first_files;          /* owned: "files" of a session's first cell; NULL: none */
    struct lent_files lent_files; /* those that first_files names */
    char id[SESSION_ID_SIZE];     /* "": the next cell begins a session */
    /* owned: those that live, in the order of their begin: {"id", "cells", "defined"}, the names as
     * the provider says. More than one where one was forked. */
    json_t *sessions;
    int exit_status;  /* of the last cell, as that of toolhost run */
    bool is_hopeless; /* the provider or its policy has no session for us: no input would help */
};

/* Opens the provider. *ret is all zero before, and stays where it is; release it with
 * session_cells_clear() in any case. signal_fd: see signal_watch.h. */
bool session_cells_open(const struct options *options, int out, int signal_fd,
                        struct session_cells *ret, struct failure *failure);
/* Ends the provider, and with it a session that is still there. */
void session_cells_clear(struct session_cells *cells);

/* Executes the code and says how it went. action: of the session, or NULL. count: the action's; 0:
 * the provider's default. */
void session_cells_execute(struct session_cells *cells, const char *code, size_t length,
                           const char *action, uint64_t count);

/* The next cell is one of that session's, which is among sessions. */
void session_cells_use(struct session_cells *cells, const char *id);
/* Of sessions, the one of the next cell (borrowed); NULL: it is still to begin. */
const json_t *session_cells_current(const struct session_cells *cells);
