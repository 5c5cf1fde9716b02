/* SPDX-License-Identifier: Apache-2.0 */
/* The findings of a call: storing and writing them. Runs in the gateway, on the thread inside
 * tool_invoke(). */
#include "call/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "call/call.h"

void content_describe(struct content_finding *finding, const char *rule, const char *format, ...)
{
    va_list arguments;
    (void)snprintf(finding->rule, sizeof(finding->rule), "%s", rule);
    va_start(arguments, format);
    (void)vsnprintf(finding->message, sizeof(finding->message), format, arguments);
    va_end(arguments);
    utf8_end_whole(finding->rule);
    utf8_end_whole(finding->message);
}

bool content_add(struct content_findings *findings, const struct content_finding *finding)
{
    if (findings->count == CONTENT_FINDINGS_LIMIT) {
        findings->more++;
        return true;
    }
    if (!findings->list)
        findings->list = calloc(CONTENT_FINDINGS_LIMIT, sizeof(*findings->list));
    if (!findings->list)
        return false;
    findings->list[findings->count++] = *finding;
    return true;
}

void content_clear(struct content_findings *findings)
{
    free(findings->list);
    *findings = (struct content_findings){0};
}

static const char *name_of_file(const struct call *call, const struct content_finding *finding)
{
    return finding->file == 0 ? NULL : call->request.files[finding->file - 1].path;
}

static void write_finding(struct json_draft *draft, const struct call *call,
                          const struct content_finding *finding, bool with_message)
{
    json_draft_open(draft, NULL, '{');
    json_draft_integer(draft, "column", finding->column);
    json_draft_string(draft, "file", name_of_file(call, finding));
    json_draft_integer(draft, "line", finding->line);
    if (with_message)
        json_draft_string(draft, "message", finding->message);
    json_draft_string(draft, "rule", finding->rule);
    json_draft_close(draft, '}');
}

static void write_findings(struct json_draft *draft, const struct call *call, bool with_messages)
{
    const struct content_findings *findings = &call->content;
    size_t count = findings->stale ? 0 : findings->count;
    json_draft_open(draft, "content_findings", '[');
    for (size_t i = 0; i < count; i++)
        write_finding(draft, call, &findings->list[i], with_messages);
    json_draft_close(draft, ']');
    json_draft_integer(draft, "content_findings_more",
                       findings->stale ? 0 : (int64_t)findings->more);
}

void content_write(struct json_draft *draft, const struct call *call)
{
    write_findings(draft, call, true);
}

void content_write_places(struct json_draft *draft, const struct call *call)
{
    write_findings(draft, call, false);
}

void content_format(const struct call *call, const struct content_finding *finding, char *text,
                    size_t size)
{
    const char *file = name_of_file(call, finding);
    int length = 0;
    if (finding->line > 0)
        length = snprintf(text, size, "%s%sline %u, column %u: ", file ? file : "", file ? " " : "",
                          finding->line, finding->column);
    (void)snprintf(text + length, size - (size_t)length, "%s (%s)", finding->message,
                   finding->rule);
}
