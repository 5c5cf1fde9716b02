/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the gate makes of a policy: which of its parts refuses, who is asked, what the result says
 * about it. Through the exports, with fake_backend.c beside this program.
 */
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "gate_support.h"
#include "recording_host.h"
#include "tap_suite.h"

#define REQUEST(members) "{\"language\":\"sh\",\"code\":\"true\"" members "}"
#define DENY(rest)       "{\"approval\":{\"rules\":[{\"decision\":\"deny\"" rest "}]}}"
#define SECRET(members)                                                   \
    "{\"secrets\":{\"allowed\":[\"t\"],\"rules\":{\"t\":{" members "}}}," \
    "\"approval\":{\"default\":\"allow\"}}"
#define MODE_NONE "\"modes\":{\"allowed\":[\"none\"],\"default\":\"none\"}"

static const struct {
    const char *policy;
    const char *sandbox;
    const char *input;
    const char *context;
    const char *error; /* its code */
    const char *message;
    const char *called; /* as in recording_host.h */
} refusals[] = {
    {"{\"approval\":{\"default\":\"deny\"}}", "process", REQUEST(""), NULL, "policy_denied",
     "policy denied: the default is deny", "W"},
    {DENY(""), "process", REQUEST(""), NULL, "policy_denied", "policy denied: approval rule 0",
     "W"},
    {DENY(",\"reason\":\"not here\""), "process", REQUEST(""), NULL, "policy_denied",
     "policy denied: approval rule 0: not here", "W"},
    {DENY(",\"id\":\"no-sh\""), "process", REQUEST(""), NULL, "policy_denied",
     "policy denied: approval rule 0 (no-sh)", "W"},
    {DENY(",\"id\":\"b\",\"principals\":[\"bob\"],\"code_bytes\":{\"min\":4},\"reason\":\"not "
          "bob\""),
     "process", REQUEST(""), "{\"principal\":\"bob\"}", "policy_denied",
     "policy denied: approval rule 0 (b): not bob", "W"},
    {DENY(
         ",\"code_sha256\":[\"b5bea41b6c623f7c09f1bf24dcae58ebab3c0cdd90ad966bc43a45b44867e12b\"]"),
     "process", REQUEST(""), NULL, "policy_denied", "policy denied: approval rule 0", "W"},
    {"{}", "process", REQUEST(",\"secrets\":{\"T\":\"{{secret:t}}\"}"), NULL, "secret_not_allowed",
     "the policy does not list the secret: t", "W"},
    {SECRET("\"languages\":[\"python\",\"lua\"]"), "process",
     REQUEST(",\"secrets\":{\"T\":\"{{secret:t}}\"}"), NULL, "secret_not_allowed",
     "the policy does not allow the secret t for the language sh", "W"},
    {SECRET("\"modes\":[\"docker\"]"), "process", REQUEST(",\"secrets\":{\"T\":\"{{secret:t}}\"}"),
     NULL, "secret_not_allowed", "the policy does not allow the secret t in mode process", "W"},
    {"{\"languages\":{\"sh\":{\"limits\":{\"wall_ms\":{\"max\":20000}}}}}", "process",
     REQUEST(",\"timeout_ms\":20001"), NULL, "limit_too_high",
     "request: /timeout_ms: 20001 is more than the policy's ceiling of 20000 for sh", "CW"},
    {"{\"languages\":{\"sh\":{\"limits\":{\"wall_ms\":{\"default\":1000}}}},\"capabilities\":["
     "\"sandbox.exec\"]}",
     "process", REQUEST(",\"timeout_ms\":1001"), NULL, "access_denied",
     "access denied: sandbox.exec.limits.extended", "CW"},
    {"{\"capabilities\":[]}", "process", REQUEST(""), NULL, "access_denied",
     "access denied: sandbox.exec", "W"},
    {"{" MODE_NONE "}", "none", REQUEST(""), NULL, "access_denied",
     "access denied: sandbox.exec.mode.none", "CW"},
    {"{\"capabilities\":[\"sandbox.exec\"]}", "process", REQUEST(",\"timeout_ms\":10001"), NULL,
     "access_denied", "access denied: sandbox.exec.limits.extended", "CW"},
    {"{\"capabilities\":[\"sandbox.exec\"]}", "process",
     REQUEST(",\"files\":[{\"path\":\"a\",\"content\":\"\"}]"), NULL, "access_denied",
     "access denied: sandbox.exec.files", "CW"},
    {"{}", "process", REQUEST(""), "{\"workspace\":\"/srv\"}", "policy_denied",
     "policy denied: workspace /srv", "W"},
};

static const struct {
    const char *policy;
    const char *sandbox;
    const char *input;
    int32_t code; /* docker mode has no backend here */
    const char *note;
} notes[] = {
    {"{\"network\":{\"allowed\":true}}", "process", REQUEST(",\"network\":true"), TOOL_OK,
     "the program has the network of the gateway's machine"},
    {"{\"network\":{\"allowed\":true}}", "docker", REQUEST(",\"network\":true"), TOOL_NOT_RUN,
     "the program has the network of the engine's bridge"},
    {"{\"secrets\":{\"allowed\":[\"t\"]}}", "process",
     REQUEST(",\"secrets\":{\"T\":\"{{secret:t}}\"}"), TOOL_OK,
     "the program has no network: secrets can only be used locally"},
    {"{\"secrets\":{\"allowed\":[\"t\"]}}", "process",
     REQUEST(",\"secrets\":{\"T\":\"{{secret:t}}\"}"), TOOL_OK,
     "the secret t is too short to be redacted from the output"},
};

static const char *text_of(const json_t *result, const char *object, const char *member)
{
    return json_string_value(json_object_get(json_object_get(result, object), member));
}

START_TEST(refuses_what_the_policy_refuses)
{
    struct recording_host recorded;
    struct tool_host host = recording_host(&recorded);
    host.context_json = refusals[_i].context;
    configure_policy(refusals[_i].policy, refusals[_i].sandbox);
    json_auto_t *result = invoke("code_execute", refusals[_i].input, &host, TOOL_NOT_RUN);
    ck_assert_str_eq(error_code_of(result), refusals[_i].error);
    ck_assert_str_eq(text_of(result, "error", "message"), refusals[_i].message);
    ck_assert_str_eq(recorded.called, refusals[_i].called);
    ck_assert_str_eq(recorded.last_record, "refused");
}
END_TEST

static void give_short_secret(void *user, const char *name, void *buffer, size_t capacity,
                              size_t *length, uint32_t *verdict)
{
    record_secret(user, name, buffer, capacity, length, verdict);
    *length = 3;
}

START_TEST(notes_what_the_caller_should_know)
{
    struct recording_host recorded;
    struct tool_host host = recording_host(&recorded);
    host.read_secret = give_short_secret;
    configure_policy(notes[_i].policy, notes[_i].sandbox);
    json_auto_t *result = invoke("code_execute", notes[_i].input, &host, notes[_i].code);
    json_t *said = json_object_get(result, "notes");
    bool found = false;
    for (size_t i = 0; i < json_array_size(said); i++)
        found = found || strcmp(json_string_value(json_array_get(said, i)), notes[_i].note) == 0;
    ck_assert_msg(found, "no note \"%s\"", notes[_i].note);
}
END_TEST

START_TEST(asks_nobody_where_the_default_allows)
{
    struct recording_host recorded;
    struct tool_host host = recording_host(&recorded);
    configure_policy("{\"approval\":{\"default\":\"allow\"}}", "process");
    json_auto_t *result = invoke("code_execute", REQUEST(""), &host, TOOL_OK);
    ck_assert_str_eq(recorded.called, "CWOW");
    ck_assert_str_eq(text_of(result, "approval", "decision"), "not_required");
    ck_assert_str_eq(text_of(result, "approval", "approver"), "policy:default");
}
END_TEST

/* By its id, or its place where it has none. */
START_TEST(names_the_rule_that_allowed)
{
    static const char *const policies[] = {
        "{\"approval\":{\"rules\":[{\"decision\":\"allow\",\"id\":\"shells\"}]}}",
        "{\"approval\":{\"rules\":[{\"decision\":\"allow\"}]}}"};
    static const char *const approvers[] = {"policy:rule:shells", "policy:rule:0"};
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        struct recording_host recorded;
        struct tool_host host = recording_host(&recorded);
        configure_policy(policies[i], "process");
        json_auto_t *result = invoke("code_execute", REQUEST(""), &host, TOOL_OK);
        ck_assert_str_eq(recorded.called, "CWOW");
        ck_assert_str_eq(text_of(result, "approval", "approver"), approvers[i]);
    }
}
END_TEST

START_TEST(asks_for_a_secret_that_wants_it)
{
    struct recording_host recorded;
    struct tool_host host = recording_host(&recorded);
    configure_policy(SECRET("\"approval\":\"ask\",\"languages\":[\"sh\"],\"modes\":[\"process\"]"),
                     "process");
    json_decref(invoke("code_execute", REQUEST(""), &host, TOOL_OK));
    ck_assert_str_eq(recorded.called, "CWOW");
    host = recording_host(&recorded);
    json_decref(
        invoke("code_execute", REQUEST(",\"secrets\":{\"T\":\"{{secret:t}}\"}"), &host, TOOL_OK));
    ck_assert_ptr_nonnull(strchr(recorded.called, 'A'));
}
END_TEST

START_TEST(runs_in_mode_none_where_policy_and_host_allow_it)
{
    struct recording_host recorded;
    struct tool_host host = recording_host(&recorded);
    configure_policy(
        "{" MODE_NONE ",\"capabilities\":[\"sandbox.exec\",\"sandbox.exec.mode.none\"]}", "none");
    json_auto_t *result = invoke("code_execute", REQUEST(""), &host, TOOL_OK);
    ck_assert_str_eq(json_string_value(json_object_get(result, "mode")), "none");
    ck_assert_str_eq(recorded.called, "CAWOW");
}
END_TEST

/* The narrower default of the other shape counts for what is more than usual. */
START_TEST(more_than_usual_depends_on_the_shape)
{
    static const char policy[] = "{\"capabilities\":[\"sandbox.exec\"]}";
    struct recording_host recorded;
    struct tool_host host = recording_host(&recorded);
    configure_policy(policy, "process");
    json_decref(invoke("code_execute", REQUEST(",\"timeout_ms\":5001"), &host, TOOL_OK));
    json_auto_t *result =
        invoke("sandbox.exec", "{\"runtime\":\"sh\",\"code\":\"true\",\"timeout_ms\":5001}", &host,
               TOOL_NOT_RUN);
    ck_assert_str_eq(text_of(result, "error", "message"),
                     "access denied: sandbox.exec.limits.extended");
}
END_TEST

/* The operator changes the policy while somebody edits. */
static void edit_under_another_policy(void *user, uint64_t token, const char *request_json,
                                      uint32_t *verdict)
{
    record_approval(user, token, request_json, verdict);
    configure_policy("{\"approval\":{\"default\":\"deny\"}}", "process");
    ck_assert_int_eq(
        tool_reply_approval(token, "{\"decision\":\"edit\",\"arguments\":" REQUEST("") "}"),
        TOOL_ACCEPTED);
}

START_TEST(an_edited_request_stays_under_the_policy_that_was_shown)
{
    struct recording_host recorded;
    struct tool_host host = recording_host(&recorded);
    host.request_approval = edit_under_another_policy;
    configure_policy("{}", "process");
    json_decref(invoke("code_execute", REQUEST(",\"args\":[\"a\"]"), &host, TOOL_OK));
    ck_assert_str_eq(recorded.called, "CACWOW");
    json_auto_t *refused = invoke("code_execute", REQUEST(""), &host, TOOL_NOT_RUN);
    ck_assert_str_eq(error_code_of(refused), "policy_denied"); /* the other one is in force */
}
END_TEST

START_TEST(runs_nothing_while_the_configuration_is_refused)
{
    struct recording_host recorded;
    struct tool_host host = recording_host(&recorded);
    ck_assert_int_eq(tool_prepare("{\"sandbox\":\"dokcer\"}", NULL), TOOL_NOT_RUN);
    json_auto_t *result = invoke("code_execute", REQUEST(""), &host, TOOL_NOT_RUN);
    ck_assert_str_eq(error_code_of(result), "unknown_mode");
    ck_assert_str_eq(recorded.called, "");
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("gate_policy")};
    tcase_set_timeout(cases[0], 30);
    tcase_add_loop_test(cases[0], refuses_what_the_policy_refuses, 0, COUNT_OF(refusals));
    tcase_add_loop_test(cases[0], notes_what_the_caller_should_know, 0, COUNT_OF(notes));
    tcase_add_test(cases[0], asks_nobody_where_the_default_allows);
    tcase_add_test(cases[0], names_the_rule_that_allowed);
    tcase_add_test(cases[0], asks_for_a_secret_that_wants_it);
    tcase_add_test(cases[0], runs_in_mode_none_where_policy_and_host_allow_it);
    tcase_add_test(cases[0], more_than_usual_depends_on_the_shape);
    tcase_add_test(cases[0], an_edited_request_stays_under_the_policy_that_was_shown);
    tcase_add_test(cases[0], runs_nothing_while_the_configuration_is_refused);
    return run_suite("gate_policy", cases, COUNT_OF(cases));
}
