/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who decides about a request, and what was decided. Whatever goes wrong is a denial with its
 * reason, so that no caller can forget to check. On the thread inside tool_invoke().
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

enum approval_mode {
    APPROVAL_ASK,     /* a person at the terminal */
    APPROVAL_ALWAYS,  /* the command line said yes beforehand */
    APPROVAL_NEVER,   /* the command line said no beforehand */
    APPROVAL_COMMAND, /* a program */
};

struct approver {
    enum approval_mode mode;
    const char *program; /* for APPROVAL_COMMAND */
};

struct approval_decision {
    bool allow;
    char approver[192]; /* who decided: "terminal:USER" */
    char reason[512];   /* "" where none was given; always there for a denial */
    bool no_approver;   /* nobody could be asked at all */
};

/* Decides about request_json. cancelled_fd (or -1) becomes readable when the call is cancelled:
 * that denies. */
void approval_decide(const struct approver *approver, const char *request_json, int cancelled_fd,
                     struct approval_decision *ret);

/* How long the request may wait, in milliseconds: its own word within bounds. */
int approval_wait_ms(const json_t *request);

void approval_deny(struct approval_decision *decision, const char *format, ...)
    __attribute__((format(printf, 2, 3), nonnull(1, 2)));
