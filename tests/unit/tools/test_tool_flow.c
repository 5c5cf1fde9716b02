/* SPDX-License-Identifier: Apache-2.0 */
/* What has been called, and what the policy says of a call behind it. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "tap_suite.h"
#include "tools/tool_flow.h"

static char inbox[] = "read_inbox", files[] = "files.*", send[] = "send_email", any[] = "*";
static char jira[] = "jira.*";
static char *reads[] = {inbox, files, NULL}, *sends[] = {send, NULL}, *all[] = {any, NULL};
static char *issues[] = {jira, NULL};

static struct policy_tool_flow rows[] = {
    {reads, sends, APPROVAL_ASK},
    {issues, sends, APPROVAL_DENY},
    {issues, issues, APPROVAL_ASK},
};
static const struct policy_tools policy = {.flows = rows, .flow_count = COUNT_OF(rows)};

static const struct {
    const char *called[4];
    const char *name;
    enum approval_decision decision;
    size_t newest;
    const char *asked_by; /* of one that asks */
    const char *denied_by;
} judged[] = {
    {{NULL}, "send_email", APPROVAL_ALLOW, 0, NULL, NULL},
    {{"read_inbox"}, "send_email", APPROVAL_ASK, 1, "[\"read_inbox\"]", NULL},
    {{"read_inbox"}, "send_emails", APPROVAL_ALLOW, 0, NULL, NULL},
    {{"read_inboxes", "filesystem"}, "send_email", APPROVAL_ALLOW, 0, NULL, NULL},
    {{"add", "files.read", "add", "sub"}, "send_email", APPROVAL_ASK, 2, "[\"files.read\"]", NULL},
    {{"files.", "add", "read_inbox"},
     "send_email",
     APPROVAL_ASK,
     3,
     "[\"files.\",\"read_inbox\"]",
     NULL},
    {{"read_inbox", "jira.find", "files.read"}, "send_email", APPROVAL_DENY, 3, NULL, "jira.find"},
    {{"send_email"}, "read_inbox", APPROVAL_ALLOW, 0, NULL, NULL},
    {{"jira.find"}, "jira.find", APPROVAL_ASK, 1, "[\"jira.find\"]", NULL},
};

static char *written(const struct tool_flow *flow, const char *name,
                     const struct tool_flow_verdict *verdict)
{
    struct json_draft draft = {.order = JSON_ORDER_MADE};
    size_t length = 0;
    tool_flow_write(flow, &policy, name, verdict, NULL, &draft);
    return json_draft_take(&draft, &length);
}

static char *told_flow(const struct tool_flow *flow, const char *name,
                       const struct tool_flow_verdict *verdict)
{
    struct json_draft draft = {.order = JSON_ORDER_MADE};
    size_t length = 0;
    json_draft_open(&draft, NULL, '{');
    tool_flow_write_verdict(flow, &policy, name, verdict, &draft);
    json_draft_close(&draft, '}');
    return json_draft_take(&draft, &length);
}

START_TEST(judges_by_what_was_called)
{
    struct tool_flow flow = {0};
    for (size_t i = 0; i < COUNT_OF(judged[0].called) && judged[_i].called[i]; i++)
        tool_flow_note(&flow, judged[_i].called[i]);
    struct tool_flow_verdict verdict = tool_flow_judge(&flow, &policy, judged[_i].name);
    ck_assert_int_eq(verdict.decision, judged[_i].decision);
    ck_assert_uint_eq(verdict.newest, judged[_i].newest);
    if (judged[_i].asked_by) {
        tool_flow_note(&flow, "read_inbox"); /* what comes later is no reason */
        CLEANUP_FREE char *text = written(&flow, judged[_i].name, &verdict);
        ck_assert_str_eq(text, judged[_i].asked_by);
    }
    if (judged[_i].denied_by)
        ck_assert_str_eq(tool_flow_reason(&flow, &policy, judged[_i].name, &verdict),
                         judged[_i].denied_by);
    CLEANUP_FREE char *told = told_flow(&flow, judged[_i].name, &verdict);
    ck_assert_ptr_nonnull(strstr(told, judged[_i].decision == APPROVAL_ALLOW ? "null"
                                       : judged[_i].denied_by
                                           ? "{\"after\":\"jira.find\",\"decision\":\"deny\"}"
                                           : "\"decision\":\"ask\"}"));
    tool_flow_clear(&flow);
}
END_TEST

START_TEST(says_nothing_without_flows)
{
    static const struct policy_tools none = {0};
    struct tool_flow flow = {0};
    tool_flow_note(&flow, "read_inbox");
    ck_assert_int_eq(tool_flow_judge(&flow, &none, "send_email").decision, APPROVAL_ALLOW);
    tool_flow_clear(&flow);
    ck_assert_int_eq(tool_flow_judge(&flow, &policy, "send_email").decision, APPROVAL_ALLOW);
}
END_TEST

START_TEST(remembers_each_name_once)
{
    struct tool_flow flow = {0};
    for (int i = 0; i < 3 * TOOL_FLOW_NAMES_LIMIT; i++)
        tool_flow_note(&flow, i % 2 ? "add" : "sub");
    ck_assert_uint_eq(flow.count, 2);
    ck_assert(!flow.is_full);
    tool_flow_clear(&flow);
}
END_TEST

/* One more than can be remembered may have been any, so every flow has begun. */
START_TEST(what_is_forgotten_may_have_been_any)
{
    struct tool_flow flow = {0};
    char name[16];
    for (unsigned i = 0; i < TOOL_FLOW_NAMES_LIMIT; i++) {
        (void)snprintf(name, sizeof(name), "tool%u", i);
        tool_flow_note(&flow, name);
    }
    tool_flow_note(&flow, name);
    ck_assert_int_eq(tool_flow_judge(&flow, &policy, "send_email").decision, APPROVAL_ALLOW);
    tool_flow_note(&flow, "another");
    struct tool_flow_verdict verdict = tool_flow_judge(&flow, &policy, "send_email");
    ck_assert_int_eq(verdict.decision, APPROVAL_DENY);
    ck_assert_str_eq(tool_flow_reason(&flow, &policy, "send_email", &verdict), "*");
    verdict = tool_flow_judge(&flow, &policy, "jira.find");
    ck_assert_int_eq(verdict.decision, APPROVAL_ASK);
    ck_assert_uint_eq(verdict.newest, SIZE_MAX);
    CLEANUP_FREE char *text = written(&flow, "jira.find", &verdict);
    ck_assert_str_eq(text, "[\"*\"]");
    ck_assert_int_eq(tool_flow_judge(&flow, &policy, "add").decision, APPROVAL_ALLOW);
    tool_flow_clear(&flow);
}
END_TEST

START_TEST(a_flow_may_be_about_all)
{
    static struct policy_tool_flow row = {all, all, APPROVAL_ASK};
    static const struct policy_tools one = {.flows = &row, .flow_count = 1};
    struct tool_flow flow = {0};
    ck_assert_int_eq(tool_flow_judge(&flow, &one, "add").decision, APPROVAL_ALLOW);
    tool_flow_note(&flow, "add");
    ck_assert_int_eq(tool_flow_judge(&flow, &one, "add").decision, APPROVAL_ASK);
    tool_flow_clear(&flow);
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("flows")};
    tcase_add_loop_test(cases[0], judges_by_what_was_called, 0, COUNT_OF(judged));
    tcase_add_test(cases[0], says_nothing_without_flows);
    tcase_add_test(cases[0], remembers_each_name_once);
    tcase_add_test(cases[0], what_is_forgotten_may_have_been_any);
    tcase_add_test(cases[0], a_flow_may_be_about_all);
    return run_suite("tool_flow", cases, COUNT_OF(cases));
}
