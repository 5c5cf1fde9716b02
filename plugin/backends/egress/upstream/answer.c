/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the words of the broker's own answers: see answer.h. Runs in the broker. */
#include "backends/egress/upstream/answer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static const char *const hints[EGRESS_DECISION_COUNT] = {
    [EGRESS_ALLOWED] = "",
    [EGRESS_DENIED] = "Blocked by policy. Do not retry and do not look for another way.",
    [EGRESS_BUDGET] = "The run has used up what the policy allows for this endpoint. Do not retry.",
    [EGRESS_FAILED] = "The policy allows the request, but it failed. Retry later, or do without.",
};

void denial_set(struct denial *denial, unsigned status, enum egress_decision decision,
                const char *code, const char *format, ...)
{
    va_list arguments;
    *denial = (struct denial){.status = status, .decision = decision, .code = code};
    va_start(arguments, format);
    (void)vsnprintf(denial->reason, sizeof(denial->reason), format, arguments);
    va_end(arguments);
    /* It goes into records, which are printable, and a stranger's method may be in it. */
    for (char *byte = denial->reason; *byte; byte++)
        if (*byte < 0x20 || *byte > 0x7e)
            *byte = '?';
}

/* The reason has printable characters only. */
static char *json_string(const char *text)
{
    char *quoted = malloc(2 * strlen(text) + 3);
    char *next = quoted;
    if (!quoted)
        return NULL;
    *next++ = '"';
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            *next++ = '\\';
        *next++ = *text;
    }
    *next++ = '"';
    *next = '\0';
    return quoted;
}

char *denial_text(const struct denial *denial, const struct egress_endpoint *endpoint)
{
    char *text = NULL;
    CLEANUP_FREE char *reason = json_string(denial->reason);
    CLEANUP_FREE char *name = endpoint ? json_string(endpoint->name) : strdup("null");
    if (!reason || !name ||
        asprintf(&text, "{\"error\": \"%s\", \"endpoint\": %s, \"reason\": %s, \"hint\": \"%s\"}\n",
                 denial->code, name, reason, hints[denial->decision]) < 0)
        return NULL;
    return text;
}
