/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thing that is odd about a policy, as policy_lint() lists it. Pure code, any thread.
 */
#pragma once

#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>

/* The findings, in order; list is borrowed. */
struct policy_findings {
    json_t *list;
    bool failed; /* no memory */
};

#define POLICY_FINDING_WARNING "warning"
#define POLICY_FINDING_NOTICE  "notice"

/* level: one of the above. place: a JSON pointer. rule: the id of the rule, NULL for none. */
void policy_finding_add(struct policy_findings *findings, const char *level, const char *place,
                        const char *rule, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void policy_finding_add_list(struct policy_findings *findings, const char *level, const char *place,
                             const char *rule, const char *format, va_list arguments)
    __attribute__((format(printf, 5, 0)));
