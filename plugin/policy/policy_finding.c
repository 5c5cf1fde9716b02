/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the form of a finding. Runs in the gateway on the calling thread. */
#include "policy/policy_finding.h"

#include <stdio.h>

#include "base/utf8.h"

#define MESSAGE_LIMIT 1024

void policy_finding_add_list(struct policy_findings *findings, const char *level, const char *place,
                             const char *rule, const char *format, va_list arguments)
{
    char message[MESSAGE_LIMIT];
    (void)vsnprintf(message, sizeof(message), format, arguments);
    utf8_end_whole(message);
    json_t *finding = json_pack("{s:s, s:s, s:s?, s:s}", "level", level, "place", place, "rule",
                                rule, "message", message);
    if (json_array_append_new(findings->list, finding) != 0)
        findings->failed = true;
}

void policy_finding_add(struct policy_findings *findings, const char *level, const char *place,
                        const char *rule, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    policy_finding_add_list(findings, level, place, rule, format, arguments);
    va_end(arguments);
}
