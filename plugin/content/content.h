/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Content checks: what the policy's "content_checks" find in the text of a program, before anybody
 * is asked to approve it. Findings are warnings for the approver, or refuse the call. They are no
 * isolation: whoever wants to hide something from them can; the sandbox is what holds. Runs on the
 * thread inside tool_invoke().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "call/findings.h"

enum content_verdict {
    CONTENT_READ,       /* the findings are what there is to say */
    CONTENT_UNREADABLE, /* not a program of its language */
    CONTENT_FAILED,     /* the check did not come to its end */
    CONTENT_STOPPED,    /* error says why: cancelled, no memory */
};

/* What a checker makes of the call's text. */
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
