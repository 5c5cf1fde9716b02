/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The findings of content checks in the text of a program: for the approver, the notes, the audit
 * and the checkers. Owned by the call, on the thread inside tool_invoke().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/policy_content.h"
#include "json/json_text.h"

#define CONTENT_FINDINGS_LIMIT 32 /* that are reported; the rest is counted */

struct content_finding {
    uint32_t file;   /* 0: the program; else the request's file of that number, counted from 1 */
    uint32_t line;   /* from 1; 0: of no line */
    uint32_t column; /* from 1 */
    char rule[CONTENT_RULE_LIMIT + 1];
    char message[CONTENT_MESSAGE_LIMIT + 1]; /* printable ASCII, or UTF-8 of the operator */
};

/* The findings of one text. */
struct content_findings {
    struct content_finding *list; /* NULL: none */
    size_t count;
    uint64_t more;        /* beyond the limit */
    char text_sha256[65]; /* of what they are about; "": nothing was checked yet */
    bool stale;           /* another request has come since, and was not looked at yet */
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
/* "helper.py line 3, column 1: imports os, which the policy forbids (forbidden_module)" */
void content_format(const struct call *call, const struct content_finding *finding, char *text,
                    size_t size);
