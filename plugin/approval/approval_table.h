/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of approval requests under way, with its limits. Runs in the gateway. Every function is
 * called with the lock of approval.c held, but approval_table_abandon().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "approval/approval.h"

enum approval_entry_state {
    APPROVAL_ENTRY_OPEN,     /* a call waits for the answer, or is still inside the callback */
    APPROVAL_ENTRY_PENDING,  /* no call waits; the answer will be used by an identical one */
    APPROVAL_ENTRY_ANSWERED, /* used up by the call that waits, or by the next identical one */
    APPROVAL_ENTRY_STANDING, /* answered for as long as the provider is loaded */
};

struct approval_entry {
    struct approval_entry *next;
    uint64_t token;
    enum approval_entry_state state;
    bool waited_for; /* a call holds this entry and will remove it */
    uint64_t expires_ms;
    unsigned answers; /* as in the question */
    char request_sha256[SHA256_HEX_LENGTH + 1];
    /* The owner of the request: a grant serves no other principal, and one for a session no other
     * session. */
    char principal_sha256[SHA256_HEX_LENGTH + 1];
    char session_sha256[SHA256_HEX_LENGTH + 1];
    enum approval_answer answer; /* from APPROVAL_ENTRY_ANSWERED on */
    enum error_code refusal;     /* where the answer does not allow */
    struct approval_outcome outcome;
};

/* The identity that an entry is looked up by. */
struct approval_asker {
    char principal_sha256[SHA256_HEX_LENGTH + 1];
    char session_sha256[SHA256_HEX_LENGTH + 1];
};

/* A new entry of the table, which a call holds. NULL with error TOO_MANY_REQUESTS, OUT_OF_MEMORY or
 * APPROVAL_UNAVAILABLE (no random number). */
struct approval_entry *approval_entry_add(const struct approval_question *question,
                                          const struct approval_asker *asker, struct error *error);
/* Takes it out of the table, and frees it with its outcome's arguments. */
void approval_entry_remove(struct approval_entry *entry);

/* Removes the entries whose time is over, unless a call holds them. */
void approval_table_expire(void);
/* Beyond the limit the oldest grant is forgotten: its request is asked about again. */
void approval_table_limit_grants(void);
/* NULL: no entry that can still be answered has this token. */
struct approval_entry *approval_table_find(uint64_t token);
/* NULL: the table is empty. The others follow by their next. */
struct approval_entry *approval_table_first(void);
/* How many calls hold an entry. */
uint64_t approval_table_waiting(void);
/* In a child of fork(). The entries are not freed: a thread of the parent may have been changing
 * them. */
void approval_table_abandon(void);
