/* SPDX-License-Identifier: Apache-2.0 */
/* A call as far as its policy goes. Runs in the gateway on the calling thread. */
#include "exports/prepare_query.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "call/call.h"
#include "call/capability_check.h"
#include "content/content.h"
#include "exports/status.h"
#include "gate/decision.h"
#include "gate/gate.h"
#include "protocol/layers.h"
#include "request/request_fields.h"

#define WHY_LIMIT 512

static const char *decision_word(enum approval_decision decision)
{
    static const char *const words[] = {
        [APPROVAL_ALLOW] = "allow", [APPROVAL_ASK] = "ask", [APPROVAL_DENY] = "deny"};
    return words[decision];
}

/* Takes the value; one that could not be made makes the object fail. */
static bool add(json_t *object, const char *name, json_t *value)
{
    return json_object_set_new(object, name, value) == 0;
}

static json_t *text_or_null(const char *text)
{
    return text && text[0] != '\0' ? json_string(text) : json_null();
}

static json_t *rule_json(const struct policy *policy, const struct policy_verdict *verdict)
{
    if (verdict->rule < 0)
        return json_null();
    const struct policy_rule *rule = &policy->rules[verdict->rule];
    return json_pack("{s:i, s:s?, s:s, s:s?}", "index", verdict->rule, "id", rule->id, "decision",
                     decision_word(rule->decision), "reason", rule->reason);
}

static json_t *capabilities_json(const struct call *call)
{
    struct capability_need needs[CAPABILITY_NEEDS_LIMIT];
    size_t count = capability_needs(call, needs);
    json_auto_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        char text[CAPABILITY_TEXT_SIZE];
        capability_text(needs[i].capability, needs[i].parameter, text);
        json_t *entry = json_pack("{s:s, s:b}", "name", text, "policy_grants",
                                  (int)capability_policy_grants(call, &needs[i]));
        if (json_array_append_new(list, entry) != 0)
            return NULL;
    }
    return TAKE_POINTER(list);
}

static json_t *required_json(uint64_t required)
{
    json_auto_t *list = json_array();
    for (int layer = 0; layer < LAYER_COUNT; layer++)
        if ((required & LAYER_BIT(layer)) != 0 &&
            json_array_append_new(
                list, json_string(isolation_layer_name((enum isolation_layer)layer))) != 0)
            return NULL;
    return TAKE_POINTER(list);
}

typedef void draft_writer(struct json_draft *draft, const struct call *call);

/* An object of the members that are written. */
static json_t *drafted_json(const struct call *call, draft_writer *write)
{
    struct json_draft draft = {.order = JSON_ORDER_MADE};
    size_t length = 0;
    json_draft_open(&draft, NULL, '{');
    write(&draft, call);
    json_draft_close(&draft, '}');
    CLEANUP_FREE char *text = json_draft_take(&draft, &length);
    return text ? json_loadb(text, length, 0, NULL) : NULL;
}

/* A check that only the call itself can ask: it starts a process, or is the gateway's. */
struct later_check {
    const char *name;
    const char *who;
    bool asked;
    bool refuses;
};

#define LATER_CHECKS 3

static void later_checks(const struct call *call, struct later_check ret[LATER_CHECKS])
{
    const struct policy_content *content = &call->configuration.policy->content;
    const struct content_rules *rules = policy_content_find(content, call->request.language->name);
    const struct content_outsider *host = &content->host;
    const struct content_outsider *command = &content->command;
    bool host_refuses = host->action == CONTENT_REFUSE || host->required;
    bool by_parser = content_needs_parser(call);
    ret[0] =
        (struct later_check){"rules", "the policy's rules for the language", by_parser,
                             by_parser && (rules->action == CONTENT_REFUSE || rules->required)};
    /* Whether there is one is the gateway's to know. */
    ret[1] = (struct later_check){"host", "the gateway's checker", host_refuses, host_refuses};
    ret[2] = (struct later_check){"command", "the policy's command", command->argv != NULL,
                                  command->action == CONTENT_REFUSE || command->required};
}

static void note_later_checks(struct call *call)
{
    struct later_check checks[LATER_CHECKS];
    later_checks(call, checks);
    for (size_t i = 0; i < COUNT_OF(checks); i++)
        if (checks[i].asked)
            call_note(call, "content check: %s: asked when the call is made%s", checks[i].who,
                      checks[i].refuses ? ", and can refuse it" : "");
}

static json_t *later_checks_json(const struct call *call)
{
    struct later_check checks[LATER_CHECKS];
    json_auto_t *list = json_array();
    later_checks(call, checks);
    for (size_t i = 0; i < COUNT_OF(checks); i++)
        if (checks[i].asked && json_array_append_new(list, json_string(checks[i].name)) != 0)
            return NULL;
    return TAKE_POINTER(list);
}

static void say_why(const struct call *call, const struct policy_verdict *verdict,
                    const struct error *error, char why[WHY_LIMIT])
{
    char name[WHY_LIMIT / 2];
    decision_name(call->configuration.policy, verdict, name, sizeof(name));
    if (error)
        (void)snprintf(why, WHY_LIMIT, "%s", error->message);
    else if (verdict->narrowed)
        (void)snprintf(why, WHY_LIMIT, "%s allows, but the context requires approval", name);
    else if (verdict->secret)
        (void)snprintf(why, WHY_LIMIT, "%s allows, but the secret %.128s needs approval", name,
                       verdict->secret);
    else if (verdict->endpoint)
        (void)snprintf(why, WHY_LIMIT, "%s allows, but the endpoint %s needs approval", name,
                       verdict->endpoint);
    else
        (void)snprintf(why, WHY_LIMIT, "%s says %s", name, decision_word(verdict->decision));
}

static void write_audited(struct json_draft *draft, const struct call *call)
{
    request_fields_audit(draft, &call->request);
}

/* What was settled before anything refused. */
static bool add_request(json_t *object, const struct call *call)
{
    char code_sha256[SHA256_HEX_LENGTH + 1];
    /* What only a call looks at belongs to the hash: the image's id, the content of packages. */
    bool is_open = sandbox_mode_row(call->configuration.mode)->has_images || call->request.packages;
    const struct request *request = &call->request;
    json_auto_t *audited = drafted_json(call, write_audited);
    sha256_hex(request->code, request->code_length, code_sha256);
    /* An image's id is part of the hash, and only an engine knows it. */
    return json_object_update(object, audited) == 0 &&
           add(object, "code_sha256", json_string(code_sha256)) &&
           add(object, "code_bytes", json_integer((json_int_t)request->code_length)) &&
           add(object, "request_sha256", text_or_null(is_open ? NULL : call->request_sha256)) &&
           add(object, "principal", text_or_null(call->context.principal));
}

static bool add_plan(json_t *object, const struct call *call)
{
    json_auto_t *limits = drafted_json(call, call_write_limits);
    return add(object, "image", text_or_null(call->description.image.name)) &&
           json_object_update(object, limits) == 0 &&
           add(object, "required", required_json(call->description.required)) &&
           add(object, "capabilities", capabilities_json(call));
}

static bool add_content(json_t *object, const struct call *call)
{
    json_auto_t *findings = drafted_json(call, content_write);
    return json_object_update(object, findings) == 0 &&
           add(object, "content_at_call", later_checks_json(call));
}

/* What the call came to before something refused it. */
struct progress {
    bool planned;
    bool granted; /* every capability, as far as the policy goes */
};

static json_t *explain_call(const struct call *call, const struct progress *progress,
                            const struct error *refusal)
{
    char why[WHY_LIMIT];
    const struct policy *policy = call->configuration.policy;
    struct policy_verdict verdict = {.decision = APPROVAL_DENY, .rule = -1};
    if (call->parsed)
        verdict = decision_of(call);
    say_why(call, &verdict, refusal, why);
    json_auto_t *object = json_object();
    bool made =
        add(object, "outcome", json_string(refusal ? "deny" : decision_word(verdict.decision))) &&
        add(object, "why", json_string(why)) && add(object, "error", status_error(refusal)) &&
        add(object, "rule", rule_json(policy, &verdict)) &&
        add(object, "tool", text_or_null(call->tool)) &&
        add(object, "mode", json_string(sandbox_mode_name(call->configuration.mode))) &&
        add(object, "policy_sha256", json_string(policy->sha256)) &&
        (!call->parsed || add_request(object, call)) &&
        (!progress->planned || add_plan(object, call)) &&
        (!progress->granted || add_content(object, call)) &&
        add(object, "notes", json_incref(call->notes));
    return made ? TAKE_POINTER(object) : NULL;
}

/* false with error: what refuses it. */
static bool go_through(struct call *call, const struct explanation_subject *subject,
                       struct progress *ret, struct error *error)
{
    const char *tool = subject->tool ? subject->tool : "code_execute";
    bool passed = gate_apply_policy(call, tool, subject->input_json, error);
    if (passed)
        decision_note_unnamed(call);
    ret->planned = call->language && call->description.argv;
    if (!passed || !capability_check_policy(call, error))
        return false;
    ret->granted = true;
    note_later_checks(call);
    return true;
}

json_t *explanation_json(const struct configuration *configuration,
                         const struct explanation_subject *subject)
{
    /* Grants nothing: whatever would ask the host is refused. */
    const struct tool_host host = {.struct_size = sizeof(host),
                                   .abi_version = TOOL_ABI_VERSION,
                                   .context_json = subject->context_json};
    struct error error;
    struct progress progress = {0};
    struct call *call = calloc(1, sizeof(*call));
    if (!call)
        return NULL;
    call_init(call, &host);
    call->configuration =
        (struct configuration){policy_ref(configuration->policy), configuration->mode};
    bool passed = go_through(call, subject, &progress, &error);
    json_t *explanation = explain_call(call, &progress, passed ? NULL : &error);
    call_clear(call);
    free(call);
    return explanation;
}
