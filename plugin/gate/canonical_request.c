/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The texts of a call that leave the plugin before the run: the canonical request that its approval
 * is bound to, and the questions to approvers and content checkers. Runs on the thread inside
 * tool_invoke().
 */
#include "call/call.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "gate/cell.h"
#include "gate/cells_grant.h"
#include "gate/choice/endpoint_plan.h"
#include "gate/choice/package_plan.h"
#include "gate/choice/tool_plan.h"
#include "request/request_fields.h"
#include "run/describe.h"

static int compare_limits(const void *left, const void *right)
{
    return strcmp(((const struct call_limit *)left)->name,
                  ((const struct call_limit *)right)->name);
}

/* What the shape of a call decides has become the run's. */
size_t call_limits(const struct call *call, struct call_limit ret[POLICY_LIMITS_MOST])
{
    struct run_limits of_run = call->description.limits;
    size_t row_count;
    const struct policy_limit_row *rows = policy_limit_rows(&row_count);
    size_t count = 0;
    for (size_t i = 0; i < row_count; i++) {
        if (rows[i].place == POLICY_LIMIT_OF_RUN)
            ret[count++] = (struct call_limit){rows[i].name, *describe_limit(&of_run, &rows[i])};
        else if (rows[i].place == POLICY_LIMIT_OF_GATEWAY)
            ret[count++] = (struct call_limit){
                rows[i].name, policy_limit_at(&call->limits, &rows[i])->default_value};
    }
    return count;
}

void call_write_limits(struct json_draft *draft, const struct call *call)
{
    struct call_limit limits[POLICY_LIMITS_MOST];
    size_t count = call_limits(call, limits);
    if (draft->order == JSON_ORDER_SORTED)
        qsort(limits, count, sizeof(limits[0]), compare_limits);
    json_draft_open(draft, "limits", '{');
    for (size_t i = 0; i < count; i++)
        json_draft_integer(draft, limits[i].name, (int64_t)limits[i].value);
    json_draft_close(draft, '}');
}

static void write_image(struct json_draft *draft, const char *name, const struct call *call)
{
    json_draft_string(draft, name, call->description.image.name);
}

static void write_image_id(struct json_draft *draft, const char *name, const struct call *call)
{
    json_draft_string(draft, name, call->description.image.id);
}

static void write_limits(struct json_draft *draft, const char *name __attribute__((unused)),
                         const struct call *call)
{
    call_write_limits(draft, call);
}

static void write_mode(struct json_draft *draft, const char *name, const struct call *call)
{
    json_draft_string(draft, name, sandbox_mode_name(call->configuration.mode));
}

static void write_narrowing(struct json_draft *draft, const char *name, const struct call *call)
{
    if (call->context.narrowing.json)
        json_draft_value(draft, name, narrowing_json(&call->context.narrowing));
}

static void write_policy_base(struct json_draft *draft, const char *name, const struct call *call)
{
    json_draft_string(draft, name, call->configuration.policy->base_sha256);
}

static void write_workspace(struct json_draft *draft, const char *name, const struct call *call)
{
    json_draft_string(draft, name, call->context.workspace);
}

/* As a text: a JSON number has 53 bits for certain, an inode 64. */
static void write_workspace_id(struct json_draft *draft, const char *name, const struct call *call)
{
    const struct directory_id *id = &call->description.workspace_id;
    char text[48];
    if (!call->context.workspace)
        return;
    (void)snprintf(text, sizeof(text), "%" PRIu64 ":%" PRIu64, id->device, id->inode);
    json_draft_string(draft, name, text);
}

/* The hash of what ran is enough where nobody looks at it: a session may be long. */
static void write_history(struct json_draft *draft, const char *name, const struct call *call,
                          enum request_files_form form)
{
    cell_write_history(draft, name, call, form == REQUEST_FILES_SHOWN);
}

static void write_tools(struct json_draft *draft, const char *name, const struct call *call,
                        enum request_files_form form)
{
    tool_plan_write(draft, name, call, form == REQUEST_FILES_SHOWN);
}

static void write_endpoints(struct json_draft *draft, const char *name, const struct call *call,
                            enum request_files_form form)
{
    endpoint_plan_write(draft, name, call, form == REQUEST_FILES_SHOWN);
}

static void write_packages(struct json_draft *draft, const char *name, const struct call *call,
                           enum request_files_form form)
{
    package_plan_write(draft, name, call, form == REQUEST_FILES_SHOWN);
}

/* Members that the call settles, beside those of the request as it was written. */
static const struct settled_member {
    const char *name;
    /* One of the two; form: for whom it is written. */
    void (*write_form)(struct json_draft *draft, const char *name, const struct call *call,
                       enum request_files_form form);
    void (*write)(struct json_draft *draft, const char *name, const struct call *call);
    bool differs_by_cell; /* as in struct request_field; gate/cells_grant.c looks at these itself */
} settled_members[] = {
    {"endpoint_definitions", .write_form = write_endpoints},
    {"image", .write = write_image},
    {"image_id", .write = write_image_id},
    {"limits", .write = write_limits, .differs_by_cell = true},
    {"mode", .write = write_mode},
    {"narrowing", .write = write_narrowing},
    {"package_set", .write_form = write_packages},
    {"policy_base_sha256", .write = write_policy_base},
    {"session_history", .write_form = write_history, .differs_by_cell = true},
    {"tool_definitions", .write_form = write_tools},
    {"workspace", .write = write_workspace},
    {"workspace_id", .write = write_workspace_id},
};

/* A member of the canonical request; one of the two, or neither for the tool's name. */
struct canonical_member {
    const char *name;
    const struct settled_member *settled;
    const struct request_field *field;
};

#define CANONICAL_MEMBERS_LIMIT (REQUEST_FIELDS_LIMIT + COUNT_OF(settled_members) + 1)

static bool is_settled(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(settled_members); i++)
        if (strcmp(settled_members[i].name, name) == 0)
            return true;
    return false;
}

static int compare_members(const void *left, const void *right)
{
    return strcmp(((const struct canonical_member *)left)->name,
                  ((const struct canonical_member *)right)->name);
}

/* All of them in the order of RFC 8785, which is strcmp()'s for ASCII. */
static size_t canonical_members(struct canonical_member ret[CANONICAL_MEMBERS_LIMIT])
{
    size_t field_count;
    const struct request_field *fields = request_fields(&field_count);
    size_t count = 0;
    ret[count++] = (struct canonical_member){.name = "tool"};
    for (size_t i = 0; i < COUNT_OF(settled_members); i++)
        ret[count++] = (struct canonical_member){.name = settled_members[i].name,
                                                 .settled = &settled_members[i]};
    for (size_t i = 0; i < field_count; i++)
        if (fields[i].hashed_as && !is_settled(fields[i].hashed_as))
            ret[count++] =
                (struct canonical_member){.name = fields[i].hashed_as, .field = &fields[i]};
    qsort(ret, count, sizeof(ret[0]), compare_members);
    return count;
}

static void write_member(struct json_draft *draft, const struct canonical_member *member,
                         const struct call *call, const char *tool, enum request_files_form files)
{
    const struct settled_member *settled = member->settled;
    if (settled && settled->write)
        settled->write(draft, member->name, call);
    else if (settled)
        settled->write_form(draft, member->name, call, files);
    else if (member->field)
        request_field_write(member->field, draft, &call->request, files);
    else
        json_draft_string(draft, member->name, tool);
}

/* Made and hashed twice a call, so not by way of a JSON value. */
static void write_request(struct json_draft *draft, const struct call *call, const char *tool,
                          enum request_files_form files)
{
    struct canonical_member members[CANONICAL_MEMBERS_LIMIT];
    size_t count = canonical_members(members);
    for (size_t i = 0; i < count; i++)
        write_member(draft, &members[i], call, tool, files);
}

static bool differs_by_cell(const struct canonical_member *member)
{
    return (member->settled && member->settled->differs_by_cell) ||
           (member->field && member->field->differs_by_cell);
}

void call_write_bound_to_cells(struct json_draft *draft, const struct call *call)
{
    struct canonical_member members[CANONICAL_MEMBERS_LIMIT];
    size_t count = canonical_members(members);
    for (size_t i = 0; i < count; i++)
        if (!differs_by_cell(&members[i]))
            write_member(draft, &members[i], call, call->tool, REQUEST_FILES_HASHED);
}

char *call_canonical_request(const struct call *call, size_t *ret_length)
{
    struct json_draft draft = {.order = JSON_ORDER_SORTED};
    json_draft_open(&draft, NULL, '{');
    write_request(&draft, call, "code_execute", REQUEST_FILES_HASHED);
    json_draft_close(&draft, '}');
    return json_draft_take(&draft, ret_length);
}

char *call_content_question(const struct call *call, size_t *ret_length)
{
    struct json_draft draft = {.order = JSON_ORDER_SORTED};
    json_draft_open(&draft, NULL, '{');
    write_request(&draft, call, call->tool, REQUEST_FILES_WHOLE);
    json_draft_string(&draft, "policy_sha256", call->configuration.policy->sha256);
    json_draft_string(&draft, "principal", call->context.principal);
    json_draft_string(&draft, "reason", call->request.reason);
    json_draft_string(&draft, "request_sha256", call->request_sha256);
    json_draft_string(&draft, "session", call->context.session);
    json_draft_close(&draft, '}');
    return json_draft_take(&draft, ret_length);
}

bool call_hash_request(const struct call *call, char ret[SHA256_HEX_LENGTH + 1])
{
    size_t length = 0;
    CLEANUP_FREE char *text = call_canonical_request(call, &length);
    if (!text)
        return false;
    sha256_hex(text, length, ret);
    return true;
}

static_assert(APPROVER_ONCE == APPROVAL_ANSWER_BIT(APPROVAL_ANSWER_ALLOW_ONCE) &&
                  APPROVER_SESSION == APPROVAL_ANSWER_BIT(APPROVAL_ANSWER_ALLOW_SESSION) &&
                  APPROVER_ALWAYS == APPROVAL_ANSWER_BIT(APPROVAL_ANSWER_ALLOW_ALWAYS) &&
                  APPROVER_DENY == APPROVAL_ANSWER_BIT(APPROVAL_ANSWER_DENY) &&
                  APPROVER_EDIT == APPROVAL_ANSWER_BIT(APPROVAL_ANSWER_EDIT) &&
                  APPROVER_CELLS == APPROVAL_ANSWER_BIT(APPROVAL_ANSWER_ALLOW_CELLS),
              "the policy's decisions are the approver's answers");

/* The content of a workspace is not in the request's hash, so no answer may hold for identical
 * calls. Neither may one for a cell: what it does depends on what ran before. */
unsigned call_approval_answers(const struct call *call)
{
    static const unsigned standing = APPROVAL_ANSWER_BIT(APPROVAL_ANSWER_ALLOW_SESSION) |
                                     APPROVAL_ANSWER_BIT(APPROVAL_ANSWER_ALLOW_ALWAYS);
    unsigned answers = call->configuration.policy->approver_decisions |
                       APPROVAL_ANSWER_BIT(APPROVAL_ANSWER_CANCEL);
    if (!cells_grant_can_be_offered(call))
        answers &= ~APPROVAL_ANSWER_BIT(APPROVAL_ANSWER_ALLOW_CELLS);
    return call->context.workspace || cell_has_history(call) ? answers & ~standing : answers;
}

char *call_approval_request(const struct call *call, const char *approval_id)
{
    struct json_draft draft = {.order = JSON_ORDER_SORTED};
    size_t length = 0;
    json_draft_open(&draft, NULL, '{');
    write_request(&draft, call, call->tool, REQUEST_FILES_SHOWN);
    json_draft_string(&draft, "policy_sha256", call->configuration.policy->sha256);
    json_draft_string(&draft, "approval_id", approval_id);
    json_draft_string(&draft, "run_id", call->run_id);
    json_draft_string(&draft, "request_sha256", call->request_sha256);
    json_draft_integer(&draft, "expires_in_ms",
                       (int64_t)call->configuration.policy->approval_timeout_ms);
    json_draft_boolean(&draft, "in_band", call->configuration.policy->approval_in_band);
    json_draft_string(&draft, "principal", call->context.principal);
    json_draft_string(&draft, "session", call->context.session);
    json_draft_string(&draft, "reason", call->request.reason);
    content_write(&draft, call);
    json_draft_value(&draft, "arguments", request_arguments(&call->request));
    json_draft_open(&draft, "allowed_decisions", '[');
    for (int answer = 0; answer < APPROVAL_ANSWER_COUNT; answer++)
        if ((call_approval_answers(call) & APPROVAL_ANSWER_BIT(answer)) != 0)
            json_draft_string(&draft, NULL, approval_answer_name((enum approval_answer)answer));
    json_draft_close(&draft, ']');
    json_draft_open(&draft, "decision_members", '[');
    for (size_t i = 0; approval_decision_members()[i]; i++)
        json_draft_string(&draft, NULL, approval_decision_members()[i]);
    json_draft_close(&draft, ']');
    json_draft_close(&draft, '}');
    return json_draft_take(&draft, &length);
}
