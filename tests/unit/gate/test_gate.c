/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate's order: for each stage that refuses, which callbacks of the host were called, in which
 * order, and none of a later stage. Through the exports, with fake_backend.c beside this program.
 */
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "gate_support.h"
#include "recording_host.h"
#include "tap_suite.h"

#define REQUEST(members) "{\"language\":\"sh\",\"code\":\"true\"" members "}"
#define WITH_SECRET      REQUEST(",\"secrets\":{\"T\":\"{{secret:t}}\"}")

static const char policy_text[] =
    "{\"secrets\":{\"allowed\":[\"t\",\"multi\"]},"
    "\"modes\":{\"allowed\":[\"process\",\"docker\"]},"
    "\"approval\":{\"rules\":[{\"decision\":\"deny\",\"languages\":[\"lua\"]},"
    "{\"decision\":\"allow\",\"languages\":[\"perl\"]}]}}";

enum refusing { NOBODY, CAPABILITY, SECRETS_CAPABILITY, APPROVAL, SECRET, AUDIT };

static const struct {
    const char *tool;
    const char *input;
    const char *context;
    const char *sandbox;
    enum refusing refusing;
    const char *error; /* NULL: it ran */
    const char *called;
    const char *record; /* the last one; "": none */
} stages[] = {
    {NULL, WITH_SECRET, NULL, "process", NOBODY, "unknown_tool", "", ""},
    {"no_such_tool", WITH_SECRET, NULL, "process", NOBODY, "unknown_tool", "", ""},
    {"code_execute", NULL, NULL, "process", NOBODY, "invalid_input", "", ""},
    {"code_execute", "{", NULL, "process", NOBODY, "invalid_input", "", ""},
    {"code_execute", WITH_SECRET, "{\"user\":1}", "process", NOBODY, "invalid_input", "", ""},
    {"code_execute", REQUEST(",\"session\":\"s\""), NULL, "process", NOBODY, "not_supported", "W",
     "refused"},
    {"code_execute", REQUEST(",\"network\":true"), NULL, "process", NOBODY, "policy_denied", "W",
     "refused"},
    {"code_execute", REQUEST(",\"secrets\":{\"T\":\"{{secret:other}}\"}"), NULL, "process", NOBODY,
     "secret_not_allowed", "W", "refused"},
    {"code_execute", REQUEST(",\"timeout_ms\":300000000"), NULL, "process", NOBODY,
     "limit_too_high", "CW", "refused"},
    {"code_execute", "{\"language\":\"lua\",\"code\":\"x\"}", NULL, "process", NOBODY,
     "policy_denied", "W", "refused"},
    {"code_execute", WITH_SECRET, NULL, "process", CAPABILITY, "access_denied", "CW", "refused"},
    {"code_execute", WITH_SECRET, NULL, "process", SECRETS_CAPABILITY, "access_denied", "CW",
     "refused"},
    {"code_execute", WITH_SECRET, NULL, "docker", CAPABILITY, "access_denied", "CW", "refused"},
    {"code_execute", WITH_SECRET, NULL, "docker", NOBODY, "backend_unavailable", "CW", "refused"},
    {"code_execute", WITH_SECRET, NULL, "process", APPROVAL, "approval_denied", "CAW", "refused"},
    {"code_execute", WITH_SECRET, NULL, "process", SECRET, "unknown_secret", "CASW", "refused"},
    {"code_execute", WITH_SECRET, NULL, "process", AUDIT, "audit_unavailable", "CASW", "refused"},
    {"code_execute", WITH_SECRET, NULL, "process", NOBODY, NULL, "CASWOW", "end"},
    {"code_execute", REQUEST(""), NULL, "process", NOBODY, NULL, "CAWOW", "end"},
    {"code_execute", "{\"language\":\"perl\",\"code\":\"x\"}", NULL, "process", NOBODY, NULL,
     "CWOW", "end"},
    {"sandbox.exec", "{\"runtime\":\"perl\",\"code\":\"x\"}", NULL, "process", NOBODY, NULL, "CWOW",
     "end"},
};

static void refuse_capability(void *user, const char *capability, uint32_t *verdict)
{
    record_capability(user, capability, verdict);
    *verdict = TOOL_VERDICT_DENY;
}

static void refuse_secrets_capability(void *user, const char *capability, uint32_t *verdict)
{
    record_capability(user, capability, verdict);
    if (strcmp(capability, "sandbox.exec.secrets") == 0)
        *verdict = TOOL_VERDICT_DENY;
}

static void refuse_approval(void *user, uint64_t token, const char *request_json, uint32_t *verdict)
{
    record_approval(user, token, request_json, verdict);
    *verdict = TOOL_VERDICT_DENY;
}

static void refuse_secret(void *user, const char *name, void *buffer, size_t capacity,
                          size_t *length, uint32_t *verdict)
{
    record_secret(user, name, buffer, capacity, length, verdict);
    *verdict = TOOL_VERDICT_DENY;
}

static void refuse_audit(void *user, const char *record_json, uint32_t *verdict)
{
    record_audit(user, record_json, verdict);
    *verdict = TOOL_VERDICT_DENY;
}

static void let_refuse(struct tool_host *host, enum refusing who)
{
    if (who == CAPABILITY)
        host->check_capability = refuse_capability;
    if (who == SECRETS_CAPABILITY)
        host->check_capability = refuse_secrets_capability;
    if (who == APPROVAL)
        host->request_approval = refuse_approval;
    if (who == SECRET)
        host->read_secret = refuse_secret;
    if (who == AUDIT)
        host->audit = refuse_audit;
}

START_TEST(stops_at_the_stage_that_refuses)
{
    struct recording_host recorded;
    struct tool_host host = recording_host(&recorded);
    configure_policy(policy_text, stages[_i].sandbox);
    host.context_json = stages[_i].context;
    let_refuse(&host, stages[_i].refusing);
    bool runs = stages[_i].error == NULL;
    json_auto_t *result =
        invoke(stages[_i].tool, stages[_i].input, &host, runs ? TOOL_OK : TOOL_NOT_RUN);
    ck_assert_str_eq(error_code_of(result), runs ? "" : stages[_i].error);
    ck_assert_str_eq(recorded.called, stages[_i].called);
    ck_assert_str_eq(recorded.last_record, stages[_i].record);
    ck_assert_str_eq(json_string_value(json_object_get(result, "stdout")), runs ? "partial\n" : "");
}
END_TEST

static void give_many_lines(void *user, const char *name, void *buffer, size_t capacity,
                            size_t *length, uint32_t *verdict)
{
    record_secret(user, name, buffer, capacity, length, verdict);
    *length = 60000;
    for (size_t i = 0; capacity >= 60000 && i < 7500; i++)
        memcpy((char *)buffer + 8 * i,
               (char[]){'s', 'e', 'c', (char)('0' + i / 1000 % 10), (char)('0' + i / 100 % 10),
                        (char)('0' + i / 10 % 10), (char)('0' + i % 10), '\n'},
               8);
}

START_TEST(refuses_a_secret_that_cannot_be_redacted)
{
    struct recording_host recorded;
    struct tool_host host = recording_host(&recorded);
    configure_policy(policy_text, "process");
    host.read_secret = give_many_lines;
    json_auto_t *result = invoke("code_execute", WITH_SECRET, &host, TOOL_NOT_RUN);
    ck_assert_str_eq(error_code_of(result), "invalid_input");
    ck_assert_str_eq(recorded.called, "CASW");
    ck_assert_str_eq(recorded.first_record, "refused");
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("gate")};
    tcase_set_timeout(cases[0], 30);
    tcase_add_loop_test(cases[0], stops_at_the_stage_that_refuses, 0, COUNT_OF(stages));
    tcase_add_test(cases[0], refuses_a_secret_that_cannot_be_redacted);
    return run_suite("gate", cases, COUNT_OF(cases));
}
