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

#include "error.h"
#include "json_text.h"
#include "policy_content.h"

#define CONTENT_FINDINGS_LIMIT 32 /* that are told; the rest is counted */

struct content_finding {
    uint32_t file;   /* 0: the program; else the request's file of that number, counted from 1 */
    uint32_t line;   /* from 1; 0: of no line */
    uint32_t column; /* from 1 */
    char rule[CONTENT_RULE_LIMIT + 1];
    char message[CONTENT_MESSAGE_LIMIT + 1]; /* printable ASCII, or UTF-8 of the operator */
};

/* What is known of one text. */
struct content_findings {
    struct content_finding *list; /* NULL: none */
    size_t count;
    uint64_t more;        /* that there is no place for */
    char text_sha256[65]; /* of what they are about; "": nothing was checked yet */
    bool stale;           /* another request has come since, and was not looked at yet */
};

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

/* Fills in rule and message, cut where they are too long. */
void content_describe(struct content_finding *finding, const char *rule, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* false: no memory. */
bool content_add(struct content_findings *findings, const struct content_finding *finding);
void content_clear(struct content_findings *findings);
/* Members "content_findings" and "content_findings_more", for the approver. */
void content_write(struct json_draft *draft, const struct call *call);
/* The same for the audit: places and rules, and no message, which can repeat what the program says.
 * Empty where the call's request was not looked at. */
void content_write_places(struct json_draft *draft, const struct call *call);

/* Do the policy's rules for the call's language want a parser in a sandbox? */
bool content_needs_parser(const struct call *call);
/* Will content_check() start a process? */
bool content_needs_process(const struct call *call);
/* Checks the call's text as its policy says; not again while it is the same. true: findings are in
 * call->content and its notes. false with CONTENT_REFUSED, CANCELLED or OUT_OF_MEMORY. */
bool content_check(struct call *call, struct error *error);
