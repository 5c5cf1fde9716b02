/* SPDX-License-Identifier: Apache-2.0 */
/* Whom --approve names. Constant for a command's life; borrowed texts. */
#pragma once

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
