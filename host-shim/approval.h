/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who decides about a request, and what was decided. Whatever goes wrong is a denial with its
 * reason, so that no caller can forget to check. Nothing of a tool's input or of a client's words
 * about itself gets here but as the request that is shown. On the thread inside tool_invoke().
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "failure.h"

enum approval_mode {
    APPROVAL_ASK,     /* a person at the terminal */
    APPROVAL_ALWAYS,  /* the command line said yes beforehand */
    APPROVAL_NEVER,   /* the command line said no beforehand */
    APPROVAL_COMMAND, /* a program */
    APPROVAL_QUEUE,   /* whoever answers with toolhost approvals, while the call waits */
    APPROVAL_PENDING, /* the same, while it does not: the identical call comes for the answer */
    APPROVAL_WEBHOOK, /* a web service */
};

struct approver {
    enum approval_mode mode;
    const char *program;     /* for APPROVAL_COMMAND */
    const char *url;         /* for APPROVAL_WEBHOOK */
    const char *webhook_key; /* file with the key that signs both ways */
    const char *store;       /* file of grants and waiting requests; NULL: the default one */
};

/* The first is what holds where nothing was decided. */
enum approval_word {
    APPROVAL_WORD_DENY,
    APPROVAL_WORD_ALLOW_ONCE,
    APPROVAL_WORD_ALLOW_SESSION,
    APPROVAL_WORD_ALLOW_ALWAYS,
    APPROVAL_WORD_EDIT,
    APPROVAL_WORD_CANCEL,
    APPROVAL_WORD_COUNT,
    APPROVAL_WORD_PENDING =
        APPROVAL_WORD_COUNT, /* nobody has decided: an identical call will ask */
};

struct approval_decision {
    enum approval_word word;
    json_t *arguments;  /* of an edit, new; else NULL */
    char approver[192]; /* who decided: "terminal:USER" */
    char reason[512];   /* "" where none was given; always there for a denial */
    char notice[2048];  /* "" or what the host's person should know beside it */
    bool no_approver;   /* nobody could be asked at all */
};

/* Decides about request_json; *ret is to be cleared (approval_clear()). cancelled_fd (or -1)
 * becomes readable when the call is cancelled: that denies. */
void approval_decide(const struct approver *approver, const char *request_json, int cancelled_fd,
                     struct approval_decision *ret);
void approval_clear(struct approval_decision *decision);

/* How long the request may wait, in milliseconds: its own word within bounds. */
int approval_wait_ms(const json_t *request);

/* The word as tool_reply_approval() takes it. */
const char *approval_word_name(enum approval_word word);
/* false: no such word; *ret is as it was. */
bool approval_word_find(const char *name, enum approval_word *ret);
bool approval_word_allows(enum approval_word word);
/* Does the request let it be answered like that? One that says nothing takes once and deny. */
bool approval_offers(const json_t *request, enum approval_word word);

/* Reads --approve's value into mode, program and url. */
bool approval_option_parse(const char *value, struct approver *ret, struct failure *failure);

/* "PREFIX:USER", the user being this process's. */
void approval_name_user(const char *prefix, char *ret, size_t size);

void approval_allow(struct approval_decision *decision, enum approval_word word,
                    const char *reason);
void approval_deny(struct approval_decision *decision, const char *format, ...)
    __attribute__((format(printf, 2, 3), nonnull(1, 2)));
