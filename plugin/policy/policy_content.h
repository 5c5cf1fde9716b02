/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy's section "content_checks": rules about a program's text that warn the approver or
 * refuse the call. A program without findings is not safe: isolation is the sandbox's task. Read
 * with the policy, immutable and shared with it. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CONTENT_MESSAGE_LIMIT 200 /* bytes of a finding's message */
#define CONTENT_RULE_LIMIT    32  /* bytes of a rule's name */

enum content_action { CONTENT_WARN, CONTENT_REFUSE };

/* On Python, the one language that is read by its syntax tree. */
struct content_rules {
    enum content_action action;
    bool required;            /* a program that cannot be checked is refused */
    char **allowed_modules;   /* NULL: there is no list; an empty one allows none */
    char **forbidden_modules; /* NULL or empty: none */
    char **forbidden_names;   /* built-ins, or MODULE.NAME */
};

/* A checker of the gateway or the operator: the effect of its findings, and of a failed check. */
struct content_outsider {
    enum content_action action;
    bool required;
    char **argv; /* of the command; NULL: there is none */
    uint64_t timeout_ms;
};

struct policy_content {
    uint64_t timeout_ms;          /* of a check of ours */
    struct content_rules *python; /* NULL: none */
    struct content_outsider host; /* the gateway's callback */
    struct content_outsider command;
};
