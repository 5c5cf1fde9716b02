/* SPDX-License-Identifier: Apache-2.0 */
/* The stage of the gate and what is said of its findings. Runs in the gateway, on the thread inside
 * tool_invoke(). */
#include "content.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "cleanup.h"
#include "content_checkers.h"
#include "host.h"
#include "utf8.h"

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
    if (findings->list == NULL)
        findings->list = calloc(CONTENT_FINDINGS_LIMIT, sizeof(*findings->list));
    if (findings->list == NULL)
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

/* "helper.py line 3, column 1: imports os, which the policy forbids (forbidden_module)" */
static void format_finding(const struct call *call, const struct content_finding *finding,
                           char *text, size_t size)
{
    const char *file = name_of_file(call, finding);
    int length = 0;
    if (finding->line > 0)
        length = snprintf(text, size, "%s%sline %u, column %u: ", file != NULL ? file : "",
                          file != NULL ? " " : "", finding->line, finding->column);
    (void)snprintf(text + length, size - (size_t)length, "%s (%s)", finding->message,
                   finding->rule);
}

static bool refuse(const struct call *call, const struct content_finding *finding, size_t others,
                   struct error *error)
{
    char text[sizeof(error->message) - 64];
    format_finding(call, finding, text, sizeof(text));
    error_set(error, ERROR_CONTENT_REFUSED, "content refused: %s", text);
    if (others > 0)
        error_set_hint(error,
                       "change line %u (%s) and %zu more places that the notes name, or ask the "
                       "operator to change the policy's \"content_checks\"",
                       finding->line, finding->rule, others);
    else if (finding->line > 0)
        error_set_hint(error,
                       "change line %u (%s), or ask the operator to change the policy's "
                       "\"content_checks\"",
                       finding->line, finding->rule);
    return false;
}

static bool no_memory(struct error *error)
{
    error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the content check");
    return false;
}

/* What the checker has said, under the terms that its findings have in the policy. first: how many
 * findings were there before it. */
static bool judge(struct call *call, const struct content_answer *answer,
                  enum content_action action, bool required, size_t first, struct error *error)
{
    struct content_findings *findings = &call->content;
    if (answer->verdict == CONTENT_STOPPED)
        return false;
    bool refused = action == CONTENT_REFUSE && findings->count > first;
    if (refused)
        return refuse(call, &findings->list[first], findings->count - first - 1, error);
    if (answer->verdict == CONTENT_READ)
        return true;
    if (required)
        return refuse(call, &answer->why, 0, error);
    if (content_add(findings, &answer->why))
        return true;
    return no_memory(error);
}

static bool asks_outside(const struct call *call)
{
    return host_checks_content(&call->host) ||
           call->configuration.policy->content.command.argv != NULL;
}

/* What the checkers look at: the policy's rules at the text, the ones outside at all of it. */
static bool hash_text(const struct call *call, char ret[SHA256_HEX_LENGTH + 1])
{
    const struct request *request = &call->request;
    struct json_draft draft = {.order = JSON_ORDER_MADE};
    char hash[SHA256_HEX_LENGTH + 1];
    size_t length = 0;
    sha256_hex(request->code, request->code_length, hash);
    json_draft_open(&draft, NULL, '[');
    json_draft_string(&draft, NULL, call->configuration.policy->sha256);
    json_draft_string(&draft, NULL, request->language->name);
    json_draft_string(&draft, NULL, hash);
    json_draft_string(&draft, NULL, asks_outside(call) ? call->request_sha256 : NULL);
    json_draft_string(&draft, NULL, asks_outside(call) ? request->reason : NULL);
    for (size_t i = 0; i < request->file_count; i++) {
        sha256_hex(request->files[i].content, request->files[i].length, hash);
        json_draft_string(&draft, NULL, request->files[i].path);
        json_draft_string(&draft, NULL, hash);
    }
    json_draft_close(&draft, ']');
    CLEANUP_FREE char *text = json_draft_take(&draft, &length);
    if (text == NULL)
        return false;
    sha256_hex(text, length, ret);
    return true;
}

static void note_findings(struct call *call)
{
    const struct content_findings *findings = &call->content;
    for (size_t i = 0; i < findings->count; i++) {
        char text[CONTENT_MESSAGE_LIMIT + CONTENT_RULE_LIMIT + REQUEST_PATH_LIMIT + 64];
        format_finding(call, &findings->list[i], text, sizeof(text));
        call_note(call, "content check: %s", text);
    }
    if (findings->more > 0)
        call_note(call, "content check: %llu more findings", (unsigned long long)findings->more);
}

static const struct content_rules *rules_of(const struct call *call)
{
    return policy_content_find(&call->configuration.policy->content, call->request.language->name);
}

bool content_needs_parser(const struct call *call)
{
    return rules_of(call) != NULL;
}

static bool check_by_rules(struct call *call, struct error *error)
{
    const struct content_rules *rules = rules_of(call);
    if (rules == NULL)
        return true;
    struct content_answer answer = content_check_python(call, rules, error);
    return judge(call, &answer, rules->action, rules->required, 0, error);
}

/* Who offers a check is asked; a policy that says nothing of it takes what it finds for warnings.
 */
static bool check_by_host(struct call *call, struct error *error)
{
    const struct content_outsider *terms = &call->configuration.policy->content.host;
    const size_t first = call->content.count;
    if (!host_checks_content(&call->host) && !terms->required)
        return true;
    struct content_answer answer = content_ask_host(call, error);
    return judge(call, &answer, terms->action, terms->required, first, error);
}

static bool check_by_command(struct call *call, struct error *error)
{
    const struct content_outsider *terms = &call->configuration.policy->content.command;
    const size_t first = call->content.count;
    if (terms->argv == NULL)
        return true;
    struct content_answer answer = content_ask_command(call, error);
    return judge(call, &answer, terms->action, terms->required, first, error);
}

static bool check_text(struct call *call, struct error *error)
{
    return check_by_rules(call, error) && check_by_host(call, error) &&
           check_by_command(call, error);
}

bool content_needs_process(const struct call *call)
{
    return call->configuration.policy->content.command.argv != NULL || content_needs_parser(call);
}

bool content_check(struct call *call, struct error *error)
{
    char text_sha256[SHA256_HEX_LENGTH + 1];
    if (!hash_text(call, text_sha256))
        return no_memory(error);
    if (strcmp(text_sha256, call->content.text_sha256) == 0) {
        call->content.stale = false;
        note_findings(call); /* an edit of something else has taken the notes away */
        return true;
    }
    content_clear(&call->content);
    bool passed = check_text(call, error);
    note_findings(call);
    if (passed)
        memcpy(call->content.text_sha256, text_sha256, sizeof(text_sha256));
    return passed;
}
