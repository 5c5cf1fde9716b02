/* SPDX-License-Identifier: Apache-2.0 */
/* Whom --approve names, and how each kind is asked, on the thread inside tool_invoke(). An approver
 * is constant for a command's life; its texts are borrowed. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "approval/approval_decision.h"

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

/* Waits until fd (or -1) can be read, for pause_ms at most (-1: until the deadline). false: the
 * time is over or the call was cancelled, and *ret says so. */
bool approval_wait(int fd, int cancelled_fd, uint64_t deadline_ms, int pause_ms,
                   struct approval_decision *ret);

/* The person at the controlling terminal. */
void approval_by_terminal(const json_t *request, int cancelled_fd, struct approval_decision *ret);

/* A program: the request as JSON on its standard input, its decision as JSON on its standard
 * output. */
void approval_by_command(const char *program, const json_t *request, const char *request_json,
                         int cancelled_fd, struct approval_decision *ret);
/* Reads what was answered to the request; anything but exactly one valid answer is a denial. */
void approval_read_decision(const char *text, size_t length, const json_t *request,
                            struct approval_decision *ret);

/* Puts the request into the store, where another terminal or program answers it with toolhost
 * approvals. Waits for the answer, or with APPROVAL_PENDING uses that of an earlier identical call,
 * or says that it is pending. */
void approval_by_queue(const struct approver *approver, const json_t *request,
                       const char *request_json, int cancelled_fd, struct approval_decision *ret);

/* A web service, by libcurl. Both ways are signed with a key that the two share (docs/
 * approvals.md); whatever is not a signed answer to this very request denies. */
void approval_by_webhook(const struct approver *approver, const json_t *request,
                         const char *request_json, int cancelled_fd, struct approval_decision *ret);
