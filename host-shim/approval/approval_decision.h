/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decision about a request, and its vocabulary. Every error is a denial with a reason, so a
 * caller that forgets to check denies. Pure code, any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* The first is what holds where nothing was decided. */
enum approval_word {
    APPROVAL_WORD_DENY,
    APPROVAL_WORD_ALLOW_ONCE,
    APPROVAL_WORD_ALLOW_SESSION,
    APPROVAL_WORD_ALLOW_ALWAYS,
    APPROVAL_WORD_ALLOW_CELLS,
    APPROVAL_WORD_ALLOW_RUN,
    APPROVAL_WORD_EDIT,
    APPROVAL_WORD_CANCEL,
    APPROVAL_WORD_UNAVAILABLE, /* no approver could be asked, so there is no decision */
    APPROVAL_WORD_COUNT,
    APPROVAL_WORD_PENDING = APPROVAL_WORD_COUNT, /* undecided: an identical call asks again */
};

struct approval_decision {
    enum approval_word word;
    json_t *arguments;  /* of an edit, new; else NULL */
    char id[33];        /* under which the store has it; "": the request's own */
    char approver[192]; /* "terminal:USER" and the like; "": no one decided */
    char reason[512];   /* "" where none was given; always there for a denial */
    char notice[2048];  /* for the host's user; "": none */
    bool no_approver;   /* no --approve, and no terminal */
};

void approval_clear(struct approval_decision *decision);

/* Is it about one call of a tool, which a program that runs makes? */
bool approval_is_of_call(const json_t *request);

/* How long the request may wait, in milliseconds: its own word within bounds. */
int approval_wait_ms(const json_t *request);

/* The word as tool_reply_approval() takes it. */
const char *approval_word_name(enum approval_word word);
/* false: no such word; *ret is as it was. */
bool approval_word_find(const char *name, enum approval_word *ret);
bool approval_word_allows(enum approval_word word);
/* The decision as tool_reply_approval() takes it, bound by its hash to the request that was shown.
 * NULL when out of memory. */
char *approval_decision_text(const struct approval_decision *decision, const json_t *request);
/* Under which id a pending request waits, as tool_reply_approval() takes it; NULL where the
 * provider does not take it, and when out of memory. */
char *approval_pending_text(const struct approval_decision *decision, const json_t *request);
/* Does the request offer the decision? One without a list offers allow_once and deny. */
bool approval_offers(const json_t *request, enum approval_word word);

/* "PREFIX:USER", the user being this process's. */
void approval_name_user(const char *prefix, char *ret, size_t size);

void approval_allow(struct approval_decision *decision, enum approval_word word,
                    const char *reason);
/* No approver could be asked, so none is named. */
void approval_unavailable(struct approval_decision *decision, const char *format, ...)
    __attribute__((format(printf, 2, 3), nonnull(1, 2)));
void approval_deny(struct approval_decision *decision, const char *format, ...)
    __attribute__((format(printf, 2, 3), nonnull(1, 2)));
