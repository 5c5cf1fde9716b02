/* SPDX-License-Identifier: Apache-2.0 */
/* The gate's stage of content checks, and the notes about its findings. Runs in the gateway, on the
 * thread inside tool_invoke(). */
#include "content/content.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "call/call.h"
#include "content/content_checkers.h"
#include "host/host.h"

static bool refuse_content(const struct call *call, const struct content_finding *finding,
                           size_t others, struct error *error)
{
    char text[sizeof(error->message) - 64];
    content_format(call, finding, text, sizeof(text));
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

/* Applies the policy's terms to the answer of a checker. first: the number of findings before it.
 */
static bool judge(struct call *call, const struct content_answer *answer,
                  enum content_action action, bool required, size_t first, struct error *error)
{
    struct content_findings *findings = &call->content;
    if (answer->verdict == CONTENT_STOPPED)
        return false;
    bool refused = action == CONTENT_REFUSE && findings->count > first;
    if (refused)
        return refuse_content(call, &findings->list[first], findings->count - first - 1, error);
    if (answer->verdict == CONTENT_READ)
        return true;
    if (required)
        return refuse_content(call, &answer->why, 0, error);
    if (content_add(findings, &answer->why))
        return true;
    return no_memory(error);
}

static bool asks_outside(const struct call *call)
{
    return host_checks_content(&call->host) || call->configuration.policy->content.command.argv;
}

/* The hash of what the checkers read: the policy's rules read the text, outside checkers the whole
 * request. */
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
        request_file_hash(&request->files[i], hash);
        json_draft_string(&draft, NULL, request->files[i].path);
        json_draft_string(&draft, NULL, hash);
    }
    json_draft_close(&draft, ']');
    CLEANUP_FREE char *text = json_draft_take(&draft, &length);
    if (!text)
        return false;
    sha256_hex(text, length, ret);
    return true;
}

static void note_findings(struct call *call)
{
    const struct content_findings *findings = &call->content;
    for (size_t i = 0; i < findings->count; i++) {
        char text[CONTENT_MESSAGE_LIMIT + CONTENT_RULE_LIMIT + REQUEST_PATH_LIMIT + 64];
        content_format(call, &findings->list[i], text, sizeof(text));
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
    if (!rules)
        return true;
    struct content_answer answer = content_check_python(call, rules, error);
    if (!judge(call, &answer, rules->action, rules->required, 0, error))
        return false;
    if (!content_has_unread_python(&call->request))
        return true;
    answer = content_failed(NULL, "a Python file by reference is not read");
    return judge(call, &answer, rules->action, rules->required, call->content.count, error);
}

/* A gateway with a checker is asked; without a policy entry its findings are warnings. */
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
    if (!terms->argv)
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
    return call->configuration.policy->content.command.argv || content_needs_parser(call);
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
