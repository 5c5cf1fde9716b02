/* SPDX-License-Identifier: Apache-2.0 */
/* A call as far as its policy goes. Runs in the gateway on the calling thread. */
#include "explanation.h"

#include <stdio.h>
#include <stdlib.h>

#include "call.h"
#include "capability_check.h"
#include "cleanup.h"
#include "decision.h"
#include "gate.h"
#include "protocol/layers.h"

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
    return text != NULL && text[0] != '\0' ? json_string(text) : json_null();
}

static json_t *error_or_null(const struct error *error)
{
    if (error == NULL)
        return json_null();
    return json_pack("{s:s, s:s, s:s}", "code", error_code_name(error->code), "message",
                     error->message, "hint", error->hint);
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

static json_t *secrets_json(const struct request *request)
{
    json_auto_t *list = json_array();
    for (size_t i = 0; i < request->secret_count; i++)
        if (json_array_append_new(list, json_string(request->secrets[i].name)) != 0)
            return NULL;
    return TAKE_POINTER(list);
}

static json_t *limits_json(const struct call *call)
{
    struct json_draft draft = {.order = JSON_ORDER_MADE};
    size_t length = 0;
    json_draft_open(&draft, NULL, '{');
    call_write_limits(&draft, call);
    json_draft_close(&draft, '}');
    CLEANUP_FREE char *text = json_draft_take(&draft, &length);
    json_auto_t *whole = text != NULL ? json_loadb(text, length, 0, NULL) : NULL;
    return json_incref(json_object_get(whole, "limits"));
}

static const struct error *first_missing_capability(const struct call *call, struct error *error)
{
    struct capability_need needs[CAPABILITY_NEEDS_LIMIT];
    size_t count = capability_needs(call, needs);
    for (size_t i = 0; i < count; i++) {
        char text[CAPABILITY_TEXT_SIZE];
        if (capability_policy_grants(call, &needs[i]))
            continue;
        capability_text(needs[i].capability, needs[i].parameter, text);
        error_set(error, ERROR_ACCESS_DENIED, "access denied: %s", text);
        return error;
    }
    return NULL;
}

static void say_why(const struct call *call, const struct policy_verdict *verdict,
                    const struct error *error, char why[WHY_LIMIT])
{
    char name[WHY_LIMIT / 2];
    decision_name(call->configuration.policy, verdict, name, sizeof(name));
    if (error != NULL)
        (void)snprintf(why, WHY_LIMIT, "%s", error->message);
    else if (verdict->secret != NULL)
        (void)snprintf(why, WHY_LIMIT, "%s allows, and the secret %.128s must be asked for", name,
                       verdict->secret);
    else
        (void)snprintf(why, WHY_LIMIT, "%s says %s", name, decision_word(verdict->decision));
}

/* What was settled before anything refused. */
static bool add_request(json_t *object, const struct call *call)
{
    char code_sha256[SHA256_HEX_LENGTH + 1];
    bool docker = call->configuration.mode == SANDBOX_MODE_DOCKER;
    const struct request *request = &call->request;
    sha256_hex(request->code, request->code_length, code_sha256);
    /* An image's id is part of the hash, and only an engine knows it. */
    return add(object, "language", json_string(request->language->name)) &&
           add(object, "code_sha256", json_string(code_sha256)) &&
           add(object, "code_bytes", json_integer((json_int_t)request->code_length)) &&
           add(object, "request_sha256", text_or_null(docker ? NULL : call->request_sha256)) &&
           add(object, "principal", text_or_null(call->context.principal)) &&
           add(object, "network", json_boolean(request->network)) &&
           add(object, "secrets", secrets_json(request));
}

static bool add_plan(json_t *object, const struct call *call)
{
    return add(object, "image", text_or_null(call->description.docker.image)) &&
           add(object, "limits", limits_json(call)) &&
           add(object, "required", required_json(call->description.required)) &&
           add(object, "capabilities", capabilities_json(call));
}

static json_t *explain_call(const struct call *call, const struct error *refusal)
{
    struct error error;
    char why[WHY_LIMIT];
    const struct policy *policy = call->configuration.policy;
    bool planned = call->language != NULL && call->description.argv != NULL;
    struct policy_verdict verdict = {.decision = APPROVAL_DENY, .rule = -1};
    if (call->parsed)
        verdict = decision_of(call);
    if (refusal == NULL)
        refusal = first_missing_capability(call, &error);
    say_why(call, &verdict, refusal, why);
    json_auto_t *object = json_object();
    bool made =
        add(object, "outcome",
            json_string(refusal != NULL ? "deny" : decision_word(verdict.decision))) &&
        add(object, "why", json_string(why)) && add(object, "error", error_or_null(refusal)) &&
        add(object, "rule", rule_json(policy, &verdict)) &&
        add(object, "tool", text_or_null(call->tool)) &&
        add(object, "mode", json_string(sandbox_mode_name(call->configuration.mode))) &&
        add(object, "policy_sha256", json_string(policy->sha256)) &&
        (!call->parsed || add_request(object, call)) && (!planned || add_plan(object, call)) &&
        add(object, "notes", json_incref(call->notes));
    return made ? TAKE_POINTER(object) : NULL;
}

json_t *explanation_json(const struct configuration *configuration,
                         const struct explanation_subject *subject)
{
    /* Grants nothing: whatever would ask the host is refused. */
    const struct tool_host host = {.struct_size = sizeof(host),
                                   .abi_version = TOOL_ABI_VERSION,
                                   .context_json = subject->context_json};
    const char *tool = subject->tool != NULL ? subject->tool : "code_execute";
    struct error error;
    struct call *call = calloc(1, sizeof(*call));
    if (call == NULL)
        return NULL;
    call_init(call, &host);
    call->configuration =
        (struct configuration){policy_ref(configuration->policy), configuration->mode};
    bool passed = gate_apply_policy(call, tool, subject->input_json, &error);
    json_t *explanation = explain_call(call, passed ? NULL : &error);
    call_clear(call);
    free(call);
    return explanation;
}
