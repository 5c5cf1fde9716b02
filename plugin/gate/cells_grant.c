/* SPDX-License-Identifier: Apache-2.0 */
/* Grants by allow_cells: see cells_grant.h. Runs in the gateway, on the thread inside
 * tool_invoke(). */
#include "gate/cells_grant.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "gate/decision.h"

struct cells_grant {
    char terms_sha256[SHA256_HEX_LENGTH + 1];
    struct call_limit limits[POLICY_LIMITS_MOST];
    size_t limit_count;
    struct approval_outcome answer;
};

bool cells_grant_can_be_offered(const struct call *call)
{
    const char *names[REQUEST_SECRETS_LIMIT];
    return call->request.session && call_secrets(call, names) == 0;
}

/* The facts that have to be the same: what the tables bind, and the rule that asks. Another rule
 * asks for a reason that the approver did not see. */
static bool hash_terms(const struct call *call, const struct policy_verdict *verdict,
                       char ret[SHA256_HEX_LENGTH + 1])
{
    struct json_draft draft = {.order = JSON_ORDER_SORTED};
    char asked_by[128];
    size_t length = 0;
    decision_name(call->configuration.policy, verdict, asked_by, sizeof(asked_by));
    json_draft_open(&draft, NULL, '{');
    json_draft_string(&draft, "asked_by", asked_by);
    json_draft_boolean(&draft, "narrowed", verdict->narrowed);
    json_draft_open(&draft, "request", '{');
    call_write_bound_to_cells(&draft, call);
    json_draft_close(&draft, '}');
    json_draft_close(&draft, '}');
    CLEANUP_FREE char *text = json_draft_take(&draft, &length);
    if (!text)
        return false;
    sha256_hex(text, length, ret);
    return true;
}

/* No limit at all may be written as 0, so 0 is not less than another number. */
static bool are_within(const struct cells_grant *grant, const struct call *call)
{
    struct call_limit limits[POLICY_LIMITS_MOST];
    if (call_limits(call, limits) != grant->limit_count)
        return false;
    for (size_t i = 0; i < grant->limit_count; i++)
        if (limits[i].value != grant->limits[i].value &&
            (limits[i].value == 0 || limits[i].value > grant->limits[i].value))
            return false;
    return true;
}

static bool has_file_by_reference(const struct request *request)
{
    for (size_t i = 0; i < request->file_count; i++)
        if (request->files[i].ref)
            return true;
    return false;
}

/* An action that is added later is asked about. */
static bool has_known_action(const struct request *request)
{
    const char *action = request->session_action;
    return !action || strcmp(action, REQUEST_SESSION_KEEP) == 0 ||
           strcmp(action, REQUEST_SESSION_END) == 0 || strcmp(action, REQUEST_SESSION_UNDO) == 0;
}

/* An approver is to see each finding, and which of the gateway's files a cell gets. */
static bool needs_a_look(const struct call *call)
{
    return call->content.count > 0 || call->content.more > 0 ||
           has_file_by_reference(&call->request) || !has_known_action(&call->request);
}

bool cells_grant_covers(const struct call *call, const struct policy_verdict *verdict,
                        struct approval_outcome *ret)
{
    const struct cells_grant *grant = call->session ? call->session->cells_grant : NULL;
    unsigned answers = call_approval_answers(call);
    char terms_sha256[SHA256_HEX_LENGTH + 1];
    if (!grant || (answers & APPROVAL_ANSWER_BIT(APPROVAL_ANSWER_ALLOW_CELLS)) == 0 ||
        verdict->decision != APPROVAL_ASK || needs_a_look(call) || !are_within(grant, call) ||
        !hash_terms(call, verdict, terms_sha256) || strcmp(terms_sha256, grant->terms_sha256) != 0)
        return false;
    *ret = grant->answer;
    return true;
}

bool cells_grant_take_answer(struct call *call, const struct policy_verdict *verdict,
                             struct error *error)
{
    const char *word = approval_answer_name(APPROVAL_ANSWER_ALLOW_CELLS);
    if (strcmp(call->approval.decision, word) != 0)
        return true;
    CLEANUP_FREE struct cells_grant *grant = calloc(1, sizeof(*grant));
    if (!grant || !hash_terms(call, verdict, grant->terms_sha256)) {
        error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the answer");
        return false;
    }
    grant->limit_count = call_limits(call, grant->limits);
    grant->answer = call->approval;
    grant->answer.arguments = NULL; /* only an edit has them */
    grant->answer.expires_ms = 0;   /* it ends with the session */
    call->cells_grant = TAKE_POINTER(grant);
    return true;
}

void cells_grant_keep(struct call *call)
{
    if (!call->cells_grant || !call->session)
        return;
    free(call->session->cells_grant);
    call->session->cells_grant = TAKE_POINTER(call->cells_grant);
}
