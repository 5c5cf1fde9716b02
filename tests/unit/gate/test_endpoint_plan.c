/* SPDX-License-Identifier: Apache-2.0 */
/*
 * endpoint_plan: which endpoints a request gets and what excludes them, what of them is hashed and
 * shown, who is asked, and which capabilities they need. Single-threaded.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "call/capability_check.h"
#include "call/context.h"
#include "gate/choice/endpoint_plan.h"
#include "gate/decision.h"
#include "gate/gate.h"
#include "planned_call.h"
#include "policy/narrowing.h"
#include "tap_suite.h"
#include "json/json_place.h"

#define SH(members) "{\"language\":\"sh\",\"code\":\"1\"" members "}"
#define ASKS(names) SH(",\"endpoints\":[" names "]")

#define ENDPOINTS                                                                           \
    "\"endpoints\":{"                                                                       \
    "\"one\":{\"base_url\":\"https://one.example\",\"description\":\"The first.\","         \
    "\"allow\":[{\"methods\":[\"GET\",\"POST\"],\"paths\":[\"/a/*\",\"/b\"]}],"             \
    "\"auth\":{\"type\":\"bearer\",\"secret\":\"token\"},\"variables\":{\"ONE\":\"/v1\"}}," \
    "\"two\":{\"base_url\":\"http://10.0.0.1\",\"allow\":[],\"private\":true,"              \
    "\"approval\":\"never\"},"                                                              \
    "\"three\":{\"tunnel\":\"three.example:443\",\"approval\":\"never\"},"                  \
    "\"four\":{\"base_url\":\"https://four.example\",\"allow\":[],"                         \
    "\"variables\":{\"ONETWO\":\"\",\"ONE\":\"\"}},"                                        \
    "\"five\":{\"base_url\":\"https://five.example\",\"allow\":[],"                         \
    "\"variables\":{\"ON\":\"\",\"ONETWO\":\"/\"}}}"

static void narrow(struct call *call, const char *narrowing)
{
    struct error error;
    struct json_place place = json_place_root("test", ERROR_INVALID_INPUT, &error);
    json_auto_t *value = json_loads(narrowing, 0, NULL);
    ck_assert_msg(narrowing_read(&place, value, &call->context.narrowing), "%s", error.message);
}

static struct call *planned(const char *policy, const char *input)
{
    struct error error;
    struct call *call = new_call(policy, SANDBOX_MODE_PROCESS, input);
    ck_assert_msg(plan_run(call, &error) && endpoint_plan(call, &error), "%s", error.message);
    return call;
}

START_TEST(they_are_in_the_request_s_order)
{
    CLEANUP(cleanup_call)
    struct call *call = planned("{" ENDPOINTS "}", ASKS("\"three\",\"one\""));
    ck_assert_uint_eq(call->endpoint_count, 2);
    ck_assert_str_eq(call->endpoints[0]->order.name, "three");
    ck_assert_str_eq(call->endpoints[1]->order.name, "one");
    CLEANUP(cleanup_call) struct call *empty = planned("{" ENDPOINTS "}", ASKS(""));
    ck_assert_uint_eq(empty->endpoint_count, 0);
    CLEANUP(cleanup_call) struct call *absent = planned("{" ENDPOINTS "}", SH(""));
    ck_assert_uint_eq(absent->endpoint_count, 0);
}
END_TEST

static const struct {
    const char *input, *narrowing; /* NULL: none */
    enum sandbox_mode mode;
    enum error_code code;
    const char *message, *hint; /* parts of them; NULL message: it is planned */
} cases[] = {
    {ASKS("\"one\""), NULL, SANDBOX_MODE_PROCESS, 0, NULL, NULL},
    {ASKS("\"six\""), NULL, SANDBOX_MODE_PROCESS, ERROR_POLICY_DENIED,
     "policy denied: endpoint six", "one, two, three, four, five, or ask the operator to add it"},
    {ASKS("\"one\""), "{\"endpoints\":[\"two\"]}", SANDBOX_MODE_PROCESS, ERROR_POLICY_DENIED,
     "policy denied: endpoint one", "use one of: two: the gateway does not offer it"},
    {ASKS("\"two\""), "{\"endpoints\":[\"two\"]}", SANDBOX_MODE_PROCESS, 0, NULL, NULL},
    {ASKS("\"two\""), "{\"endpoints\":[]}", SANDBOX_MODE_PROCESS, ERROR_POLICY_DENIED,
     "policy denied: endpoint two", "leave it out: the gateway"},
    {ASKS("\"two\""), "{}", SANDBOX_MODE_PROCESS, 0, NULL, NULL},
    {SH(",\"endpoints\":[\"one\"],\"network\":true"), NULL, SANDBOX_MODE_PROCESS,
     ERROR_NOT_SUPPORTED, "a program with network", "leave network out"},
    {SH(",\"endpoints\":[\"one\"],\"session\":\"new\""), NULL, SANDBOX_MODE_PROCESS, 0, NULL, NULL},
    {ASKS("\"one\""), NULL, SANDBOX_MODE_UNPRIVILEGED, ERROR_NOT_SUPPORTED,
     "mode unprivileged reaches none: without namespaces a sandbox holds ports, not addresses",
     "a mode that has them: docker, kubernetes, process"},
    {ASKS("\"one\""), NULL, SANDBOX_MODE_NONE, ERROR_NOT_SUPPORTED, "mode none reaches none",
     "a mode that has them: docker, kubernetes, process"},
    {ASKS("\"one\""), NULL, SANDBOX_MODE_DOCKER, 0, NULL, NULL},
    {ASKS("\"one\",\"four\""), NULL, SANDBOX_MODE_PROCESS, ERROR_POLICY_DENIED,
     "endpoints one and four both set ONE", "name one of the two"},
    {ASKS("\"five\",\"four\""), NULL, SANDBOX_MODE_PROCESS, ERROR_POLICY_DENIED,
     "endpoints five and four both set ONETWO", "name one of the two"},
    {ASKS("\"one\",\"five\""), NULL, SANDBOX_MODE_PROCESS, 0, NULL, NULL},
};

START_TEST(what_excludes_them)
{
    struct error error = {0};
    CLEANUP(cleanup_call)
    struct call *call = new_call("{" ENDPOINTS "}", SANDBOX_MODE_PROCESS, cases[_i].input);
    call->configuration.mode = cases[_i].mode;
    if (cases[_i].narrowing)
        narrow(call, cases[_i].narrowing);
    bool taken = endpoint_plan(call, &error);
    ck_assert_msg(taken == !cases[_i].message, "%s: %s", cases[_i].input, error.message);
    if (taken)
        return;
    ck_assert_int_eq(error.code, cases[_i].code);
    ck_assert_msg(strstr(error.message, cases[_i].message) != NULL, "%s", error.message);
    ck_assert_msg(strstr(error.hint, cases[_i].hint) != NULL, "%s", error.hint);
}
END_TEST

/* Whether it names some or none, its interpreters are made as the first one was. */
START_TEST(a_cell_names_those_of_its_session)
{
    static const char *const inputs[] = {ASKS("\"one\""), SH(""), ASKS("\"one\",\"two\"")};
    char one[] = "one", five[] = "five";
    char *names[] = {one, five, NULL};
    struct session session = {.endpoints = names};
    for (size_t i = 0; i < COUNT_OF(inputs); i++) {
        struct error error = {0};
        CLEANUP(cleanup_call)
        struct call *call = new_call("{" ENDPOINTS "}", SANDBOX_MODE_PROCESS, inputs[i]);
        call->session = &session;
        bool taken = endpoint_plan(call, &error);
        call->session = NULL;
        ck_assert_int_eq(taken, i < 2);
        ck_assert_uint_eq(call->description.endpoints, 1);
        if (taken)
            continue;
        ck_assert_int_eq(error.code, ERROR_INVALID_INPUT);
        ck_assert_ptr_nonnull(strstr(error.message, "without the endpoint two"));
        ck_assert_ptr_nonnull(strstr(error.hint, "begin another session"));
    }
}
END_TEST

/* Of the canonical request, or of what the approver sees. */
static json_t *definitions_of(const struct call *call, bool shown)
{
    size_t length;
    CLEANUP_FREE char *text =
        shown ? call_approval_request(call, "id") : call_canonical_request(call, &length);
    ck_assert_ptr_nonnull(text);
    json_auto_t *request = json_loads(text, 0, NULL);
    return json_incref(json_object_get(request, "endpoint_definitions"));
}

START_TEST(the_hash_has_names_and_digests)
{
    CLEANUP(cleanup_call)
    struct call *call = planned("{" ENDPOINTS "}", ASKS("\"one\",\"three\""));
    json_auto_t *hashed = definitions_of(call, false);
    json_auto_t *wanted =
        json_pack("[{s:s,s:s},{s:s,s:s}]", "name", "one", "sha256", call->endpoints[0]->sha256,
                  "name", "three", "sha256", call->endpoints[1]->sha256);
    ck_assert(json_equal(hashed, wanted));
    CLEANUP(cleanup_call) struct call *none = planned("{" ENDPOINTS "}", SH(""));
    json_auto_t *nothing = definitions_of(none, false);
    ck_assert_ptr_null(nothing);
}
END_TEST

/* As where a file of certificates has changed: the policy's own hash is the same. */
START_TEST(another_definition_is_another_hash)
{
    char before[SHA256_HEX_LENGTH + 1], after[SHA256_HEX_LENGTH + 1];
    CLEANUP(cleanup_call) struct call *call = planned("{" ENDPOINTS "}", ASKS("\"one\""));
    ck_assert(call_hash_request(call, before));
    struct policy_endpoint other = *call->endpoints[0];
    other.sha256[0] = other.sha256[0] == '0' ? '1' : '0';
    call->endpoints[0] = &other;
    ck_assert(call_hash_request(call, after));
    ck_assert_str_ne(before, after);
}
END_TEST

START_TEST(an_approver_sees_what_it_lets_a_program_do)
{
    CLEANUP(cleanup_call)
    struct call *call = planned("{" ENDPOINTS "}", ASKS("\"one\",\"two\",\"three\""));
    json_auto_t *shown = definitions_of(call, true);
    json_auto_t *wanted = json_pack(
        "[{s:[{s:[ss],s:[ss]}],s:s,s:s,s:s,s:b,s:s,s:s,s:b,s:n},"
        "{s:[],s:s,s:s,s:s,s:b,s:n,s:s,s:b,s:n},"
        "{s:[],s:s,s:s,s:s,s:b,s:n,s:s,s:b,s:s}]",
        "allow", "methods", "GET", "POST", "paths", "/a/*", "/b", "base_url", "https://one.example",
        "description", "The first.", "name", "one", "private", 0, "secret", "token", "sha256",
        call->endpoints[0]->sha256, "tunnel", 0, "warning", /* */
        "allow", "base_url", "http://10.0.0.1", "description", "", "name", "two", "private", 1,
        "secret", "sha256", call->endpoints[1]->sha256, "tunnel", 0, "warning", /* */
        "allow", "base_url", "https://three.example", "description", "", "name", "three", "private",
        0, "secret", "sha256", call->endpoints[2]->sha256, "tunnel", 1, "warning",
        "nobody sees what goes through a tunnel: it is a way to upload");
    CLEANUP_FREE char *text = json_dumps(shown, 0);
    ck_assert_msg(wanted && json_equal(shown, wanted), "%s", text);
}
END_TEST

#define HASH_OF_1 "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"
#define ALLOWS    "\"approval\":{\"default\":\"allow\"},"
#define BY_CODE                                                                \
    "\"approval\":{\"rules\":[{\"decision\":\"allow\",\"languages\":[\"sh\"]," \
    "\"code_sha256\":[\"" HASH_OF_1 "\"]}]},"
#define DENIES "\"approval\":{\"default\":\"deny\"},"

static const struct {
    const char *policy, *input;
    enum approval_decision decision;
    const char *endpoint; /* that asks */
} decisions[] = {
    {"{" ALLOWS ENDPOINTS "}", SH(""), APPROVAL_ALLOW, NULL},
    {"{" ALLOWS ENDPOINTS "}", ASKS("\"two\""), APPROVAL_ALLOW, NULL},
    {"{" ALLOWS ENDPOINTS "}", ASKS("\"one\""), APPROVAL_ASK, "one"},
    {"{" ALLOWS ENDPOINTS "}", ASKS("\"two\",\"three\",\"four\""), APPROVAL_ASK, "four"},
    {"{" DENIES ENDPOINTS "}", ASKS("\"one\""), APPROVAL_DENY, NULL},
    {"{" ENDPOINTS "}", ASKS("\"two\""), APPROVAL_ASK, NULL},
    {"{" BY_CODE ENDPOINTS "}", SH(""), APPROVAL_ALLOW, NULL},
    {"{" BY_CODE ENDPOINTS "}", ASKS("\"two\""), APPROVAL_ASK, NULL},
};

START_TEST(who_is_asked)
{
    CLEANUP(cleanup_call) struct call *call = planned(decisions[_i].policy, decisions[_i].input);
    struct policy_verdict verdict = decision_of(call);
    ck_assert_msg(verdict.decision == decisions[_i].decision, "%d: %s %s", (int)verdict.decision,
                  decisions[_i].policy, decisions[_i].input);
    if (decisions[_i].endpoint)
        ck_assert_str_eq(verdict.endpoint, decisions[_i].endpoint);
    else
        ck_assert_ptr_null(verdict.endpoint);
}
END_TEST

START_TEST(a_rule_by_code_says_why_it_does_not_apply)
{
    CLEANUP(cleanup_call) struct call *call = planned("{" BY_CODE ENDPOINTS "}", ASKS("\"two\""));
    decision_note_unnamed(call);
    CLEANUP_FREE char *notes = json_dumps(call->notes, 0);
    ck_assert_msg(strstr(notes, "does not name the request's endpoints") != NULL, "%s", notes);
}
END_TEST

START_TEST(each_needs_its_capability)
{
    struct capability_need needs[CAPABILITY_NEEDS_LIMIT];
    CLEANUP(cleanup_call)
    struct call *call = planned("{" ENDPOINTS "}", ASKS("\"one\",\"three\""));
    size_t count = capability_needs(call, needs);
    ck_assert_uint_eq(count, 3);
    ck_assert_int_eq(needs[0].capability, CAPABILITY_EXEC);
    ck_assert_int_eq(needs[1].capability, CAPABILITY_ENDPOINTS);
    ck_assert_str_eq(needs[1].parameter, "one");
    ck_assert_int_eq(needs[2].capability, CAPABILITY_ENDPOINTS);
    ck_assert_str_eq(needs[2].parameter, "three");
}
END_TEST

/* An edit that names none has none of what was named before. */
START_TEST(an_edit_begins_anew)
{
    struct error error;
    struct request edited;
    CLEANUP(cleanup_call) struct call *call = planned("{" ENDPOINTS "}", ASKS("\"one\""));
    ck_assert(request_parse(REQUEST_CODE_EXECUTE, SH(""), strlen(SH("")), &edited, &error));
    call_replace_request(call, &edited);
    ck_assert_uint_eq(call->endpoint_count, 0);
    ck_assert(endpoint_plan(call, &error));
    ck_assert_uint_eq(call->endpoint_count, 0);
}
END_TEST

int main(void)
{
    TCase *parts[] = {tcase_create("choice"), tcase_create("decision")};
    tcase_add_test(parts[0], they_are_in_the_request_s_order);
    tcase_add_loop_test(parts[0], what_excludes_them, 0, (int)COUNT_OF(cases));
    tcase_add_test(parts[0], a_cell_names_those_of_its_session);
    tcase_add_test(parts[0], the_hash_has_names_and_digests);
    tcase_add_test(parts[0], another_definition_is_another_hash);
    tcase_add_test(parts[0], an_approver_sees_what_it_lets_a_program_do);
    tcase_add_loop_test(parts[1], who_is_asked, 0, (int)COUNT_OF(decisions));
    tcase_add_test(parts[1], a_rule_by_code_says_why_it_does_not_apply);
    tcase_add_test(parts[1], each_needs_its_capability);
    tcase_add_test(parts[1], an_edit_begins_anew);
    return run_suite("endpoint_plan", parts, COUNT_OF(parts));
}
