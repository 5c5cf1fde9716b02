/* SPDX-License-Identifier: Apache-2.0 */
/*
 * result_members: every row of the table is walked, over results of every kind. Each member that
 * the schema has is written, with a value that the schema allows, and has a value at least once;
 * what is optional is left out at least once, and nothing else is.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/result_schema.h"
#include "base/cleanup.h"
#include "call/call.h"
#include "result/result.h"
#include "tap_suite.h"

#define SAMPLES_LIMIT 64

static void cleanup_call(struct call **call)
{
    if (*call)
        call_clear(*call);
    free(*call);
}

/* A call that ran: what its backend said is the caller's to fill in. */
static struct call *call_that_ran(void)
{
    struct error error;
    struct call *call = calloc(1, sizeof(*call));
    call_init(call, NULL);
    call->configuration.mode = SANDBOX_MODE_PROCESS;
    call->configuration.policy = policy_load_text("test", "{}", 2, &error);
    static const char input[] = "{\"language\":\"sh\",\"code\":\"x\"}";
    call->parsed =
        request_parse(REQUEST_CODE_EXECUTE, input, strlen(input), &call->request, &error);
    ck_assert(call->configuration.policy && call->parsed);
    call->language = policy_find_language(call->configuration.policy, "sh");
    ck_assert(call->language);
    call->executed = true;
    call->outcome.ended.type = RUN_EVENT_ENDED;
    return call;
}

static json_t *result_of(struct call *call, const struct error *refusal)
{
    CLEANUP_FREE char *text = result_text(call, refusal);
    ck_assert(text);
    json_t *result = json_loads(text, JSON_ALLOW_NUL, NULL);
    ck_assert_msg(result, "%s", text);
    return result;
}

/* The call's to free, as any that is lost. */
static struct session *lost_session(void)
{
    struct session *session = calloc(1, sizeof(*session));
    ck_assert_ptr_nonnull(session);
    session->sandbox = calloc(1, sizeof(*session->sandbox));
    ck_assert_ptr_nonnull(session->sandbox);
    session->sandbox->entries = 1;
    session->sandbox->run = (struct session_run)SESSION_RUN_EMPTY;
    session->loss = SESSION_LOSS_MEMORY;
    session->cells = json_array();
    return session;
}

/* By itself with nothing known, or as a signal ended it with everything known. */
static json_t *ended_by(enum run_cause cause, bool is_killed)
{
    CLEANUP(cleanup_call) struct call *call = call_that_ran();
    struct run_event *ended = &call->outcome.ended;
    ended->cause = cause;
    ended->exit_code = is_killed ? -1 : 0;
    ended->signal = is_killed ? 9 : 0;
    ended->isolation.applied = is_killed ? LAYERS_ALL : 0;
    call->description.isolation = RUN_ISOLATION_SANDBOX;
    if (is_killed) {
        results_omit(&call->results.omitted, RESULT_OMITTED_INVALID, 1, 2);
        json_draft_text(&call->results.exception, NULL, "{}", 2);
        call->context.traceparent = strdup("00-1-2-01");
        artifact_list_omit(&call->artifacts, 1, 2, FILE_TOO_MANY);
        call->request.session = strdup(SESSION_NEW);
        call->session = lost_session();
        call->word.checkpoint = cause % 2 == 0 ? CHECKPOINT_TAKEN : CHECKPOINT_WORD_COUNT;
        if (cause % 2 == 0)
            (void)snprintf(call->session->forked_from, sizeof(call->session->forked_from), "s_0");
    } else {
        ended->usage = (struct run_usage){.user_us = RUN_USAGE_UNKNOWN,
                                          .system_us = RUN_USAGE_UNKNOWN,
                                          .peak_memory_bytes = RUN_USAGE_UNKNOWN,
                                          .processes = RUN_USAGE_UNKNOWN};
    }
    return result_of(call, NULL);
}

static json_t *refused_with(enum error_code code, bool is_known)
{
    struct error error;
    error_set(&error, code, "refused");
    CLEANUP(cleanup_call) struct call *call = calloc(1, sizeof(*call));
    call_init(call, NULL);
    if (!is_known)
        return result_of(call, &error);
    error.retry_after_ms = 1;
    struct approval_outcome *approval = &call->approval;
    (void)snprintf(approval->decision, sizeof(approval->decision), "edit");
    (void)snprintf(approval->id, sizeof(approval->id), "id");
    (void)snprintf(approval->approver, sizeof(approval->approver), "somebody");
    (void)snprintf(approval->edited_from, sizeof(approval->edited_from), "before");
    (void)snprintf(call->request_sha256, sizeof(call->request_sha256), "after");
    call->tool_calls.made = 1;
    json_draft_text(&call->tool_calls.rows, NULL, "{}", 2);
    call->endpoint_count = 1;
    call->packages.name = strdup("data");
    json_draft_text(&call->network.rows, NULL, "{}", 2);
    return result_of(call, &error);
}

static json_t *waiting(void)
{
    struct error error;
    error_set(&error, ERROR_APPROVAL_PENDING, "waits");
    CLEANUP(cleanup_call) struct call *call = calloc(1, sizeof(*call));
    call_init(call, NULL);
    (void)snprintf(call->approval.decision, sizeof(call->approval.decision), "pending");
    return result_of(call, &error);
}

static json_t *samples[SAMPLES_LIMIT + 1];

/* Results of each cause, of each error, and of calls of which more or less is known. */
static void make_samples(void)
{
    size_t count = 0;
    for (int cause = 0; cause < RUN_CAUSE_COUNT; cause++) {
        samples[count++] = ended_by((enum run_cause)cause, false);
        samples[count++] = ended_by((enum run_cause)cause, true);
    }
    for (int code = 0; code < ERROR_CODE_COUNT; code += 2)
        samples[count++] = refused_with((enum error_code)code, code % 4 == 0);
    samples[count++] = waiting();
    ck_assert_uint_le(count, SAMPLES_LIMIT);
}

static void drop_samples(void)
{
    for (size_t i = 0; samples[i]; i++)
        json_decref(samples[i]);
    memset(samples, 0, sizeof(samples));
}

START_TEST(each_result_fits_the_schema)
{
    struct result_fault fault;
    for (size_t i = 0; samples[i]; i++)
        ck_assert_msg(result_fits(samples[i], &fault), "%zu: %s", i, fault.text);
}
END_TEST

/* The value behind a path of names; NULL: absent. */
static json_t *value_at(json_t *result, const char *const *path)
{
    for (; *path; path++)
        result = json_object_get(result, *path);
    return result;
}

/* What is seen of a member over all results that have the object it belongs to. */
static void is_seen(const struct result_member *member, const char *const *path)
{
    size_t given = 0;
    size_t null = 0;
    size_t absent = 0;
    const char *const parent[] = {path[1] ? path[0] : NULL, NULL};
    for (size_t i = 0; samples[i]; i++) {
        const json_t *value = value_at(samples[i], path);
        if (!json_is_object(value_at(samples[i], parent)))
            continue;
        given += value && !json_is_null(value);
        null += json_is_null(value);
        absent += !value;
    }
    ck_assert_msg(given > 0, "%s: never written", member->name);
    ck_assert_msg(member->optional == (absent > 0), "%s: absent %zu times", member->name, absent);
    ck_assert_msg(null == 0 || member->nullable, "%s: null %zu times", member->name, null);
}

/* One way to write it, and a name, a description and what its type needs. */
static void is_whole(const struct result_member *member)
{
    int ways = !!member->string + !!member->integer + !!member->boolean + !!member->members +
               !!member->write;
    ck_assert_msg(ways == 1, "%s has %d ways to be written", member->name, ways);
    ck_assert_msg(member->description && strlen(member->description) > 10, "%s", member->name);
    ck_assert_msg(!member->string || member->type == RESULT_STRING, "%s", member->name);
    ck_assert_msg(!member->integer || member->type == RESULT_INTEGER, "%s", member->name);
    ck_assert_msg(!member->boolean || member->type == RESULT_BOOLEAN, "%s", member->name);
    ck_assert_msg(!member->members == (member->type != RESULT_OBJECT), "%s", member->name);
    ck_assert_msg(!member->text || member->brief, "%s is text and not brief", member->name);
}

START_TEST(each_row_is_written)
{
    for (const struct result_member *member = result_members(); member->name; member++) {
        const char *const path[] = {member->name, NULL};
        is_whole(member);
        is_seen(member, path);
        for (const struct result_member *inner = member->members; inner && inner->name; inner++) {
            const char *const inner_path[] = {member->name, inner->name, NULL};
            is_whole(inner);
            is_seen(inner, inner_path);
        }
    }
}
END_TEST

/* The order of the table, which is that of the page. */
START_TEST(each_result_has_the_order_of_the_table)
{
    for (size_t i = 0; samples[i]; i++) {
        const struct result_member *member = result_members();
        const char *name;
        json_t *value;
        json_object_foreach(samples[i], name, value)
        {
            while (member->name && member->optional && strcmp(member->name, name) != 0)
                member++;
            ck_assert_str_eq(name, member->name ? member->name : "nothing");
            member++;
        }
        ck_assert(!member->name);
    }
}
END_TEST

static bool has_status(json_t *result, enum call_status status)
{
    const char *name = json_string_value(json_object_get(result, "status"));
    return strcmp(name, call_status_name(status)) == 0;
}

/* A status is a column of the error table: it is that of the error that the result shows. */
START_TEST(the_status_is_that_of_the_error)
{
    for (int code = 0; code < ERROR_CODE_COUNT; code++) {
        enum call_status wanted = error_code_status((enum error_code)code);
        json_auto_t *result = refused_with((enum error_code)code, false);
        ck_assert_msg(has_status(result, wanted), "%s", error_code_name((enum error_code)code));
        ck_assert_msg(wanted != CALL_COMPLETED, "%s", error_code_name((enum error_code)code));
    }
    for (size_t i = 0; samples[i]; i++)
        ck_assert_int_eq(has_status(samples[i], CALL_COMPLETED),
                         json_is_null(json_object_get(samples[i], "error")));
}
END_TEST

static const struct {
    enum run_cause cause;
    bool is_killed;
    enum call_status status;
} ends[] = {
    {RUN_CAUSE_EXIT, false, CALL_COMPLETED},          {RUN_CAUSE_WALL_TIMEOUT, true, CALL_TIMEOUT},
    {RUN_CAUSE_CANCELLED, true, CALL_CANCELLED},      {RUN_CAUSE_INFRASTRUCTURE, true, CALL_ERROR},
    {RUN_CAUSE_INFRASTRUCTURE, false, CALL_ERROR},    {RUN_CAUSE_SIGNAL, true, CALL_KILLED},
    {RUN_CAUSE_FORBIDDEN_SYSCALL, true, CALL_KILLED}, {RUN_CAUSE_MEMORY_LIMIT, true, CALL_KILLED},
    {RUN_CAUSE_MEMORY_LIMIT, false, CALL_COMPLETED}, /* it met the limit and went on */
};

START_TEST(a_cause_has_its_status)
{
    json_auto_t *result = ended_by(ends[_i].cause, ends[_i].is_killed);
    const char *status = json_string_value(json_object_get(result, "status"));
    ck_assert_str_eq(status, call_status_name(ends[_i].status));
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("result members")};
    tcase_add_checked_fixture(cases[0], make_samples, drop_samples);
    tcase_add_test(cases[0], each_result_fits_the_schema);
    tcase_add_test(cases[0], each_row_is_written);
    tcase_add_test(cases[0], each_result_has_the_order_of_the_table);
    tcase_add_test(cases[0], the_status_is_that_of_the_error);
    tcase_add_loop_test(cases[0], a_cause_has_its_status, 0, COUNT_OF(ends));
    return run_suite("result_members", cases, COUNT_OF(cases));
}
