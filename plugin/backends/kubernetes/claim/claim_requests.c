/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the requests about a claim, and the watch that reports when it is bound: see claim.h. Runs
 * in the kubernetes backend. */
#include <stdio.h>
#include <string.h>

#include "backends/kubernetes/claim/claim_private.h"
#include "base/cleanup.h"

#define STATUS_OK        200
#define STATUS_NOT_FOUND 404
#define STATUS_CONFLICT  409
#define STATUS_OUTDATED  410
/* The server ends the watch after this time; soon after it a dead connection is noticed. */
#define WATCH_TIME_S   60
#define WATCH_LIMIT_MS 75000
#define CONFLICTS_MOST 10
#define PAUSE_MS       200 /* before the next try */

static api_done take_created, take_found, take_look, take_end, take_removal;
static api_line take_line;

/* Of the claims, or of one. */
static void path_of(const struct claim *claim, const char *name, char ret[API_PATH_LIMIT])
{
    (void)snprintf(ret, API_PATH_LIMIT,
                   "/apis/" CLAIM_GROUP "/v1beta1/namespaces/%s/sandboxclaims%s%s",
                   claim->server->name_space, name[0] ? "/" : "", name);
}

bool claim_ask(struct claim *claim, const char *method, const char *path, const json_t *body,
               uint64_t delay_ms, api_done *done)
{
    CLEANUP_FREE char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    const struct api_request request = {
        .server = claim->server,
        .method = method,
        .path = path,
        .body = text,
        .timeout_ms = API_TIME_MS,
        .delay_ms = delay_ms,
        .done = done,
        .user = claim,
    };
    if (body && !text)
        return false;
    api_call_cancel(TAKE_POINTER(claim->call));
    claim->call = api_call_start(claim->client, &request);
    return claim->call;
}

bool claim_request_creation(struct claim *claim)
{
    char path[API_PATH_LIMIT];
    path_of(claim, "", path);
    claim->is_creating = claim_ask(claim, "POST", path, claim->body, 0, take_created);
    return claim->is_creating;
}

static bool look(struct claim *claim, uint64_t delay_ms, api_done *done)
{
    char path[API_PATH_LIMIT];
    path_of(claim, claim->name, path);
    return claim_ask(claim, "GET", path, NULL, delay_ms, done);
}

/* Its changes, from the version that is known. */
static bool watch(struct claim *claim)
{
    char path[API_PATH_LIMIT];
    path_of(claim, "", path);
    size_t length = strlen(path);
    (void)snprintf(path + length, sizeof(path) - length,
                   "?watch=1&fieldSelector=metadata.name%%3D%s&timeoutSeconds=%d"
                   "&resourceVersion=%s",
                   claim->name, WATCH_TIME_S, claim->state.version);
    const struct api_request request = {
        .server = claim->server,
        .method = "GET",
        .path = path,
        .timeout_ms = WATCH_LIMIT_MS,
        .line = take_line,
        .done = take_end,
        .user = claim,
    };
    api_call_cancel(TAKE_POINTER(claim->call));
    claim->call = api_call_start(claim->client, &request);
    return claim->call;
}

/* If the claim is bound, its pod is next. If it is neither bound nor failed, it is watched. */
static void go_on(struct claim *claim)
{
    if (claim->has_failed || claim->is_removing)
        return;
    if (claim->is_bound)
        claim_look(claim);
    else if (!watch(claim))
        claim_fail_memory(claim);
}

/* If the namespace is there, the definition of claims is missing. */
static void explain_creation(const struct api_answer *answer, struct api_fault *fault)
{
    if (answer->fault.problem == API_PROBLEM_NONE && answer->status == STATUS_NOT_FOUND &&
        fault->problem != API_PROBLEM_NO_NAMESPACE)
        api_fault_set(fault, API_PROBLEM_NO_CLAIMS,
                      "the cluster does not serve SandboxClaims (" CLAIM_GROUP "/v1beta1)");
}

static void end_creation(struct claim *claim, const struct api_answer *answer)
{
    struct api_fault fault;
    claim->is_creating = false;
    if (claim->is_removing) {
        api_fault_set(&fault, API_PROBLEM_SILENT, "no memory to remove the claim");
        if (!claim_remove(claim, claim->is_dead))
            claim->events->removed(claim->user, &fault);
        return;
    }
    json_auto_t *object = api_answer_take(answer, "create the claim", &fault);
    if (object) {
        claim_take(claim, object);
        go_on(claim);
    } else {
        explain_creation(answer, &fault);
        claim_fail(claim, &fault);
    }
}

/* true: asked for again. */
static bool make_again(struct claim *claim, const struct api_answer *answer)
{
    char path[API_PATH_LIMIT];
    path_of(claim, "", path);
    return api_answer_is_passing_conflict(answer) && !claim->is_removing &&
           claim->conflicts++ < CONFLICTS_MOST &&
           claim_ask(claim, "POST", path, claim->body, PAUSE_MS, take_created);
}

/* Names are random, so a claim that has the name already was made by this request, and the first
 * answer was lost. */
static void take_created(void *user, const struct api_answer *answer)
{
    struct claim *claim = user;
    claim->call = NULL;
    if (make_again(claim, answer))
        return;
    if (answer->fault.problem == API_PROBLEM_NONE && answer->status == STATUS_CONFLICT &&
        !api_answer_is_passing_conflict(answer) && look(claim, 0, take_found))
        return;
    claim->is_refused = api_answer_is_refusal(answer);
    end_creation(claim, answer);
}

static void take_found(void *user, const struct api_answer *answer)
{
    struct claim *claim = user;
    claim->call = NULL;
    end_creation(claim, answer);
}

/* After an invalid line, and after the event that the watch is outdated, the rest of the watch is
 * ignored, and the claim is read again. */
static void take_line(void *user, const char *bytes, size_t length)
{
    struct claim *claim = user;
    enum pod_change change = POD_CHANGE_NONE;
    struct pod_state state;
    json_auto_t *object = NULL;
    if (!pod_watch_read(bytes, length, &change, &state, &object) || change == POD_CHANGE_OUTDATED ||
        change == POD_CHANGE_FAILED) {
        if (!look(claim, PAUSE_MS, take_look))
            claim_fail_memory(claim);
    } else if (change == POD_CHANGE_DELETED) {
        claim_take_loss(claim);
    } else if (change == POD_CHANGE_THERE) {
        claim_take(claim, object);
        if (claim->is_bound && !claim->has_failed)
            claim_look(claim);
    }
}

/* The server ends each watch after a while, and a connection may be cut. A problem on our side
 * fails the claim; a problem of the server is expected to pass within the run's time. */
static void take_end(void *user, const struct api_answer *answer)
{
    struct claim *claim = user;
    struct api_fault fault = answer->fault;
    bool is_good = fault.problem == API_PROBLEM_NONE && answer->status == STATUS_OK;
    bool is_ours = fault.problem == API_PROBLEM_CREDENTIALS ||
                   fault.problem == API_PROBLEM_CERTIFICATES ||
                   (fault.problem == API_PROBLEM_NONE && answer->status >= 400 &&
                    answer->status < 429 && answer->status != STATUS_OUTDATED);
    claim->call = NULL;
    if (is_ours) {
        if (fault.problem == API_PROBLEM_NONE)
            api_refusal_explain(answer->status, answer->body, answer->length, "watch the claim",
                                &fault);
        claim_fail(claim, &fault);
    } else if (!look(claim, is_good ? 0 : PAUSE_MS, take_look)) {
        claim_fail_memory(claim);
    }
}

/* The claim is gone, or its name belongs to another claim. */
static bool is_away(const struct api_answer *answer)
{
    return answer->fault.problem == API_PROBLEM_NONE &&
           (answer->status == STATUS_NOT_FOUND || answer->status == STATUS_CONFLICT);
}

static void take_look(void *user, const struct api_answer *answer)
{
    struct claim *claim = user;
    struct api_fault fault;
    claim->call = NULL;
    json_auto_t *object = api_answer_take(answer, "show the claim", &fault);
    if (object) {
        claim_take(claim, object);
        go_on(claim);
    } else if (is_away(answer)) {
        claim_take_loss(claim);
    } else if (fault.problem == API_PROBLEM_FORBIDDEN ||
               fault.problem == API_PROBLEM_UNAUTHORIZED) {
        claim_fail(claim, &fault);
    } else if (!look(claim, PAUSE_MS, take_look)) {
        claim_fail_memory(claim);
    }
}

bool claim_request_removal(struct claim *claim)
{
    char path[API_PATH_LIMIT];
    const char *uid = claim->state.uid;
    json_auto_t *body = json_pack("{s:s, s:s, s:s, s:o*}", "apiVersion", "v1", "kind",
                                  "DeleteOptions", "propagationPolicy", "Background",
                                  "preconditions", uid[0] ? json_pack("{s:s}", "uid", uid) : NULL);
    path_of(claim, claim->name, path);
    return body && claim_ask(claim, "DELETE", path, body, 0, take_removal);
}

static void take_removal(void *user, const struct api_answer *answer)
{
    struct claim *claim = user;
    struct api_fault fault;
    claim->call = NULL;
    json_auto_t *object = is_away(answer) ? NULL : api_answer_take(answer, "delete it", &fault);
    claim_take_removal(claim, object || is_away(answer) ? NULL : &fault);
}
