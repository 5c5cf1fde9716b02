/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request_fields: every row of the table is walked. What decides a run changes the hash that an
 * approval is bound to, for each member and each value of it; what does not says why.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "call/call.h"
#include "gate/gate.h"
#include "request/request_fields.h"
#include "tap_suite.h"

/* The images of the table's examples. */
#define POLICY "{\"docker\":{\"offered\":[\"python:3.11-slim\",\"python:3.12-slim\"]}}"

static void cleanup_call(struct call **call)
{
    if (*call)
        call_clear(*call);
    free(*call);
}

/* The mode of the calls: no mode has every member. */
static enum sandbox_mode mode;

static void choose_mode(const char *member)
{
    mode = strcmp(member, "image") == 0 ? SANDBOX_MODE_DOCKER : SANDBOX_MODE_PROCESS;
}

/* A call with the member, planned. NULL: it is refused. */
static struct call *planned_call(const char *name, const char *value)
{
    struct error error;
    json_auto_t *input = json_pack("{s:s, s:s}", "language", "sh", "code", "x");
    if (name)
        json_object_set_new(input, name, json_loads(value, JSON_DECODE_ANY, NULL));
    CLEANUP_FREE char *text = json_text(input, JSON_ORDER_MADE);
    struct call *call = calloc(1, sizeof(*call));
    call_init(call, NULL);
    call->configuration.mode = mode;
    call->configuration.policy = policy_load_text("test", POLICY, strlen(POLICY), &error);
    ck_assert_msg(call->configuration.policy, "%s", error.message);
    call->parsed = request_parse(REQUEST_CODE_EXECUTE, text, strlen(text), &call->request, &error);
    ck_assert_msg(call->parsed, "%s", error.message);
    if (plan_run(call, &error))
        return call;
    cleanup_call(&call);
    return NULL;
}

static void hash_of(const char *name, const char *value, char ret[SHA256_HEX_LENGTH + 1])
{
    CLEANUP(cleanup_call) struct call *call = planned_call(name, value);
    ck_assert_msg(call, "%s %s is refused", name, value);
    ck_assert(call_hash_request(call, ret));
}

static void changes_the_hash(const struct request_field *field)
{
    char without[SHA256_HEX_LENGTH + 1];
    char with[2][SHA256_HEX_LENGTH + 1];
    hash_of(NULL, NULL, without);
    for (size_t i = 0; i < COUNT_OF(with) && field->examples[i]; i++) {
        hash_of(field->name, field->examples[i], with[i]);
        ck_assert_msg(strcmp(with[i], without) != 0, "%s = %s is not in the hash", field->name,
                      field->examples[i]);
    }
    ck_assert_msg(!field->examples[1] || strcmp(with[0], with[1]) != 0,
                  "%s: both values have the same hash", field->name);
}

/* The same hash, where such a request can run at all. */
static void says_why_not(const struct request_field *field)
{
    char without[SHA256_HEX_LENGTH + 1];
    char with[SHA256_HEX_LENGTH + 1];
    CLEANUP(cleanup_call)
    struct call *call = planned_call(field->name, field->examples[0]);
    ck_assert_msg(field->not_hashed && strlen(field->not_hashed) > 20, "%s: no reason",
                  field->name);
    hash_of(NULL, NULL, without);
    if (!call)
        return;
    ck_assert(call_hash_request(call, with));
    ck_assert_str_eq(with, without);
}

START_TEST(each_is_hashed_or_says_why_not)
{
    size_t count;
    const struct request_field *fields = request_fields(&count);
    for (size_t i = 0; i < count; i++) {
        ck_assert_msg(fields[i].examples[0], "%s has no example", fields[i].name);
        choose_mode(fields[i].name);
        ck_assert_msg(!fields[i].hashed_as != !fields[i].not_hashed, "%s", fields[i].name);
        if (fields[i].hashed_as)
            changes_the_hash(&fields[i]);
        else
            says_why_not(&fields[i]);
    }
}
END_TEST

/* The others are what an answer allow_cells is bound to, so a new member is bound. */
START_TEST(what_may_differ_from_cell_to_cell_is_listed_here)
{
    static const char *const differ[] = {"code",  "stdin",   "args",           "env",
                                         "files", "outputs", "session_action", "count"};
    size_t count;
    size_t found = 0;
    const struct request_field *fields = request_fields(&count);
    for (size_t i = 0; i < count; i++) {
        if (!fields[i].differs_by_cell)
            continue;
        ck_assert_uint_lt(found, COUNT_OF(differ));
        ck_assert_str_eq(fields[i].name, differ[found++]);
    }
    ck_assert_uint_eq(found, COUNT_OF(differ));
}
END_TEST

/* What an approver sees and edits is the request. */
START_TEST(each_is_among_the_arguments)
{
    size_t count;
    const struct request_field *fields = request_fields(&count);
    for (size_t i = 0; i < count; i++) {
        const char *value = fields[i].examples[0];
        struct error error;
        struct request request = {0};
        json_auto_t *input = json_pack("{s:s, s:s}", "language", "sh", "code", "x");
        json_auto_t *wanted = json_loads(value, JSON_DECODE_ANY, NULL);
        json_object_set(input, fields[i].name, wanted);
        CLEANUP_FREE char *text = json_text(input, JSON_ORDER_MADE);
        ck_assert(request_parse(REQUEST_CODE_EXECUTE, text, strlen(text), &request, &error));
        ck_assert(request_field_is_given(&fields[i], &request));
        json_auto_t *arguments = request_arguments(&request);
        ck_assert_msg(json_equal(json_object_get(arguments, fields[i].name), wanted), "%s",
                      fields[i].name);
        request_clear(&request);
    }
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("request fields")};
    tcase_add_test(cases[0], each_is_hashed_or_says_why_not);
    tcase_add_test(cases[0], what_may_differ_from_cell_to_cell_is_listed_here);
    tcase_add_test(cases[0], each_is_among_the_arguments);
    return run_suite("request_fields", cases, COUNT_OF(cases));
}
