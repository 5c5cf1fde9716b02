/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sessions of this gateway: whose they are, what ran in them, and how many there may be. A
 * session that a call has taken is that call's alone until it is given back, with its sandbox; the
 * others are looked at under one lock. Any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "admission/admission.h"
#include "base/error.h"
#include "endpoints/broker_client.h"
#include "packages/package_set.h"
#include "redaction/redaction.h"
#include "run/session_orders.h"
#include "run/session_run.h"
#include "tools/tool_flow.h"
#include "vocabulary/sandbox_mode.h"
#include "json/canonical.h"
#include "json/json_text.h"

#define SESSION_NEW          "new" /* in a request, where others have an id */
#define SESSION_ID_LENGTH    34    /* "s_" and 32 hexadecimal digits */
#define SESSION_LOSSES_LIMIT 1024  /* kept until their owners hear of them */
#define SESSION_CELLS_SHOWN  100   /* the last ones, to an approver */
#define SESSION_LINE         80    /* bytes of a cell's first line, as an approver sees it */

/* X(constant, name) - why a session is no more. */
#define SESSION_LOSSES(X)                                                                    \
    X(NONE, "none")                                                                          \
    X(TIMEOUT, "timeout")               /* its cell did not heed the end of its time */      \
    X(CPU_LIMIT, "cpu_limit")           /* as timeout, for its processor time */             \
    X(MEMORY, "memory")                 /* its processes needed more than the limit */       \
    X(OUTPUT_LIMIT, "output_limit")     /* as timeout, for its output */                     \
    X(ENDED, "ended")                   /* its caller has asked for it */                    \
    X(CANCELLED, "cancelled")           /* as timeout, for its caller */                     \
    X(EXITED, "exited")                 /* its interpreter ended by itself */                \
    X(CRASHED, "crashed")               /* its interpreter or its backend ended otherwise */ \
    X(EXPIRED, "expired")               /* idle for too long, or too old */                  \
    X(EVICTED, "evicted")               /* it made room for another one */                   \
    X(POLICY_CHANGED, "policy_changed") /* the gateway has another policy or mode now */     \
    X(ENDED_BY_OPERATOR, "ended_by_operator")

enum session_loss {
#define X(constant, name) SESSION_LOSS_##constant,
    SESSION_LOSSES(X)
#undef X
        SESSION_LOSS_COUNT
};

const char *session_loss_name(enum session_loss loss);

struct registered_call; /* call/call_registry.h, which is above us */
struct cells_grant;     /* as is gate/cells_grant.h */

/* The facts of a call that its session is bound to; all borrowed. */
struct session_terms {
    const struct registered_call *call;
    const char *principal; /* NULL: the host has not said */
    const char *policy_sha256;
    const char *language;
    const char *workspace; /* NULL: none */
    const char *image;     /* that a new session is made from; NULL: the mode has none */
    bool asks_image;       /* the request names that one */
    const struct package_set *packages; /* that a new session has; without a name: none */
    bool asks_packages;                 /* the request names them */
    enum sandbox_mode mode;
    bool network;
    const struct run_limits *limits; /* of the call */
    bool asks_memory;                /* the request names that one */
    uint64_t max_total;              /* the policy's, as are the next two */
    uint64_t max_per_principal;
    uint64_t max_cells;
};

/* Where one session lives, or those that were forked from one. These are its branches, and take
 * turns: of one at most the interpreter runs, and those of the others sleep in it. */
struct session_sandbox {
    uint32_t entries;             /* sessions that point to it */
    uint32_t living;              /* those that have not ended */
    uint32_t branches;            /* bits: the numbers of these */
    uint32_t awake;               /* whose interpreter runs; SESSION_BRANCH_AWAKE: that of none */
    uint64_t kept_memory_bytes;   /* admission.h */
    bool is_taken;                /* by the call of one of its sessions */
    struct session_run run;       /* that call's, while it is taken */
    struct broker_run broker_run; /* its endpoints: likewise */
    struct tool_flow called;      /* the tools that cells of any branch have called: likewise */
};

struct session {
    struct session *next;
    char id[SESSION_ID_LENGTH + 1];
    char forked_from[SESSION_ID_LENGTH + 1]; /* "": from none */
    char *principal;
    char *languages[SESSION_PROGRAMS_MOST]; /* that have an interpreter, in the order of start */
    uint32_t language_count;
    char *workspace;
    char *image;                 /* that its sandbox is made from; NULL: of none */
    struct package_set packages; /* that its interpreters have; without a name: none */
    char policy_sha256[SHA256_HEX_LENGTH + 1];
    bool network;
    struct run_limits limits; /* those of its first cell */
    bool is_taken;
    const struct registered_call *taken_by; /* borrowed, while it is taken */
    bool is_to_end;                         /* an operator wants it */
    uint64_t used_ms;                       /* on CLOCK_MONOTONIC, when it was given back last */
    enum session_loss loss;
    struct session_sandbox *sandbox;
    uint32_t branch; /* its number there */

    /* What ran in it: of the last cells an array of texts, each the canonical JSON of {language,
     * code_sha256, first_line, exit_code, defined, undone}; of all of them their number and a hash
     * over their requests. */
    json_t *cells;
    _Atomic uint64_t cell_count; /* read under the lock too, while a call has the session */
    uint64_t undoable;           /* the last ones, one after the other */
    char history_sha256[SHA256_HEX_LENGTH + 1]; /* "": nothing ran */

    /* What an approver has allowed of its further cells (gate/cells_grant.h): released by free();
     * NULL: nothing. Only for the call that has taken the session. */
    struct cells_grant *cells_grant;

    /* What its first cell was given; NULL: nothing. */
    char **tools;     /* names and beginnings of names, as its request had them */
    char **endpoints; /* names of those that its cells may name; NULL: none */
    json_t *secrets;  /* object: the variable, and the name of its secret */
    struct redaction *redaction;
};

/* Takes the session of that id. NULL with error SESSION_NOT_FOUND (also where it is another
 * principal's), SESSION_BUSY, SESSION_LOST (once, and then it is gone) or INVALID_INPUT where the
 * call cannot be a cell of it. */
struct session *session_take(const char *id, const struct session_terms *terms,
                             struct error *error);

/* The number of the language's interpreter in its session; language_count: it has none yet. */
uint32_t session_program_of(const struct session *session, const char *language);
/* Notes that its interpreter has started. false: no memory. */
bool session_add_language(struct session *session, const char *language);

/* May a call with these terms be a cell of the session, which it has taken? false with
 * INVALID_INPUT: an approver has changed the request since. */
bool session_fits(const struct session *session, const struct session_terms *terms,
                  struct error *error);

/* Has a session that a call has taken outlived the wait for its cell? false with SESSION_LOST. */
bool session_still_lives(struct session *session, struct error *error);

/* Adds one that is about to start, as taken; an idle one makes room where there are too many. Its
 * run is the caller's to start, and it keeps the memory that the call was admitted with. NULL with
 * error TOO_MANY_REQUESTS or OUT_OF_MEMORY. */
struct session *session_add(const struct session_terms *terms, struct admission *admission,
                            struct error *error);

/* Keeps the secrets of the session's first cell until it ends: their names (a reference) and the
 * redaction of its output, which are the session's from now on. */
void session_keep_secrets(struct session *session, json_t *names, struct redaction *redaction);

/* Keeps the tools of the session's first cell, for those that say nothing of tools. NULL: none.
 * false: no memory. */
bool session_keep_tools(struct session *session, char *const *tools);

/* Keeps the names of the endpoints of its first cell, which are all that its sandbox is made for.
 * NULL: none. false: no memory. */
bool session_keep_endpoints(struct session *session, char *const *names);

/* Notes a cell that ran, or may have. language: its name. defined: the names that it said are
 * there, or NULL. most_undoable: of a cell with a checkpoint ahead of it, how many the session
 * keeps; else 0. */
void session_note_cell(struct session *session, const char *language, const char *request_sha256,
                       const char *code, size_t code_length, int32_t exit_code, json_t *defined,
                       uint64_t most_undoable);

/* Notes that the last cell which was not undone has been. It stays in the history. */
void session_note_undone(struct session *session);

/* A new reference to the names of the last cell in that language which is not undone; an empty
 * array where there is none. NULL: no memory. */
json_t *session_defined(const struct session *session, const char *language);

/* The last cells, as an array of objects. */
void session_write_cells(const struct session *session, const char *name, struct json_draft *draft);
/* A new one's history is that of the other one, and says that it was forked. false: no memory. */
bool session_copy_history(struct session *session, const struct session *from);

/* How many other sessions live in its sandbox, by fork. For the call that has taken it. */
uint32_t session_neighbours(const struct session *session);

/* Ends it where an operator has asked for that while a call has it. */
void session_end_as_wanted(struct session *session);

/* Notes that a copy of it sleeps, and what runs is a new session of the same sandbox, with its
 * history and nothing to undo. The call has that one in its place, and it is given back. NULL with
 * error TOO_MANY_REQUESTS or OUT_OF_MEMORY. */
struct session *session_fork(struct session *session, const struct session_terms *terms,
                             struct error *error);

/* Notes why its sandbox is no more, and all sessions in it; the caller of its last cell has heard
 * of it, and the owners of others will. */
void session_lose(struct session *session, enum session_loss loss);
/* The same of this session alone. */
void session_lose_alone(struct session *session, enum session_loss loss);
enum session_loss session_loss_of(enum run_cause cause);

/* Gives it back; one that is lost is gone then. NULL is fine. */
void session_give_back(struct session *session);

/* Of sessions that live. */
uint64_t session_count(void);

/* Those that live, for an operator: new; NULL: no memory. */
json_t *session_list(void);

/* Ends the session of that id, whosever it is, for an operator; its owner hears of it. One that a
 * call has taken ends with that call: cancel() is called with it under the lock, and must neither
 * wait nor call back. false: there is none. */
bool session_end(const char *id, void (*cancel)(const struct registered_call *call));

/* Ends all that no call has taken, for tool_shutdown(). */
void session_end_all(void);
/* In a child of fork(): none is its own. Takes no lock. */
void session_after_fork(void);
