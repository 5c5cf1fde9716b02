/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the approver that --approve names. A tool's input and a client's claims about itself reach
 * this code only as the request that is shown. An approver is constant for a command's life; its
 * texts are borrowed. On the thread inside tool_invoke().
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "approval/approval_decision.h"
#include "base/failure.h"

enum approval_mode {
    APPROVAL_ASK,     /* a person at the terminal */
    APPROVAL_ALWAYS,  /* the command line said yes beforehand */
    APPROVAL_NEVER,   /* the command line said no beforehand */
    APPROVAL_COMMAND, /* a program */
    APPROVAL_QUEUE,   /* toolhost approvals, while the call waits */
    APPROVAL_PENDING, /* the same, but an identical call fetches the answer */
    APPROVAL_WEBHOOK, /* a web service */
};

struct approver {
    enum approval_mode mode;
    const char *target;      /* APPROVAL_COMMAND: the program; APPROVAL_WEBHOOK: the URL */
    const char *webhook_key; /* file with the key that signs both ways */
    const char *store;       /* file of grants and waiting requests; NULL: the default one */
};

/* Decides about request_json; *ret is to be cleared (approval_clear()). cancelled_fd (or -1)
 * becomes readable when the call is cancelled: that denies. */
void approval_decide(const struct approver *approver, const char *request_json, int cancelled_fd,
                     struct approval_decision *ret);

/* Reads --approve's value into mode and target. */
bool approval_option_parse(const char *value, struct approver *ret, struct failure *failure);

/* A request as it is put to an approver; borrowed. */
struct approval_question {
    const struct approver *approver;
    const json_t *request;
    const char *request_json; /* the same as text */
    int cancelled_fd;
};

/* Waits until fd (or -1) can be read, for pause_ms at most (-1: until the deadline). false: the
 * time is over or the call was cancelled, and *ret says so. */
bool approval_wait(int fd, int cancelled_fd, uint64_t deadline_ms, int pause_ms,
                   struct approval_decision *ret);

/* Puts the question to an approver of one kind. */
typedef void approver_ask(const struct approval_question *question, struct approval_decision *ret);

/* The person at the controlling terminal. */
approver_ask approval_by_terminal;
/* A program: the request as JSON on its standard input, its decision as JSON on its standard
 * output. */
approver_ask approval_by_command;
/* Puts the request into the store, where another terminal or program answers it with toolhost
 * approvals. Waits for the answer, or with APPROVAL_PENDING uses that of an earlier identical call,
 * or says that it is pending. */
approver_ask approval_by_queue;
/* A web service, by libcurl. Both ways are signed with a key that the two share (docs/
 * approvals.md); whatever is not a signed answer to this very request denies. */
approver_ask approval_by_webhook;

/* Reads what was answered to the request; anything but exactly one valid answer is a denial. */
void approval_read_decision(const char *text, size_t length, const json_t *request,
                            struct approval_decision *ret);

#define APPROVAL_SHOW_ALL 0u

/* Draws a request for a person. All that came from the provider or the agent is escaped and stands
 * behind a gutter on rows that fit the terminal, so that no text of a request can begin a row of
 * its own and pass for a prompt. columns: the terminal's width. row_limit: how many rows each text
 * may take (APPROVAL_SHOW_ALL: no limit). Returns the number of lines that were left out. Pure. */
size_t approval_show(FILE *out, const json_t *request, unsigned columns, unsigned row_limit);
