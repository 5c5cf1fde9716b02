/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Content checks: the policy's "content_checks" read the text of a program before anybody is asked
 * to approve it. Findings are warnings for the approver, or refuse the call. They are no isolation:
 * code can hide from them, and only the sandbox holds it. Runs on the thread inside tool_invoke().
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "call/findings.h"

enum content_verdict {
    CONTENT_READ,       /* the findings are complete */
    CONTENT_UNREADABLE, /* not a program of its language */
    CONTENT_FAILED,     /* the check did not come to its end */
    CONTENT_STOPPED,    /* error says why: cancelled, no memory */
};

/* A checker's verdict on the call's text. */
struct content_answer {
    enum content_verdict verdict;
    struct content_finding why; /* where it is unreadable, or how it failed */
};

struct call;

/* Do the policy's rules for the call's language want a parser in a sandbox? */
bool content_needs_parser(const struct call *call);
/* Will content_check() start a process? */
bool content_needs_process(const struct call *call);
/* Checks the call's text as its policy says; not again while it is the same. true: findings are in
 * call->content and its notes. false with CONTENT_REFUSED, CANCELLED or OUT_OF_MEMORY. */
bool content_check(struct call *call, struct error *error);
