/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the reading of claims and their sandboxes: see claim_state.h. Runs in the kubernetes
 * backend. */
#include "backends/kubernetes/claim/claim_state.h"

#include <string.h>
#include <time.h>

#include "backends/kubernetes/pod/object_text.h"
#include "base/cleanup.h"

/* The annotation with the pod's name, if that is not the sandbox's. */
#define POD_NAME_ANNOTATION SANDBOX_GROUP "/pod-name"

int64_t claim_time_read(const char *text)
{
    struct tm parts = {.tm_isdst = 0};
    const char *rest = text ? strptime(text, "%Y-%m-%dT%H:%M:%SZ", &parts) : NULL;
    time_t time = rest && *rest == '\0' ? timegm(&parts) : 0;
    return time > 0 ? time : 0;
}

/* The controller does not try again after these, or only after a change of its objects. */
static bool is_final(const char *reason)
{
    static const char *const reasons[] = {
        "WarmPoolNotFound",
        "TemplateNotFound",
        "InvalidMetadata",
        "EnvVarsInjectionRejected",
        "VolumeClaimTemplatesError",
        "ClaimExpired",
        "SandboxExpired",
        "PodFailed",
        "PodSucceeded",
    };
    for (size_t i = 0; i < COUNT_OF(reasons); i++)
        if (strcmp(reasons[i], reason) == 0)
            return true;
    return false;
}

static bool is_text(const json_t *text, const char *wanted)
{
    const char *value = json_string_value(text);
    return value && strcmp(value, wanted) == 0;
}

static void take_condition(const json_t *condition, struct claim_state *state)
{
    object_text(json_object_get(condition, "reason"), state->reason, sizeof(state->reason));
    object_text(json_object_get(condition, "message"), state->message, sizeof(state->message));
    if (is_text(json_object_get(condition, "status"), "True"))
        state->word = state->sandbox[0] ? CLAIM_BOUND : CLAIM_WAITS;
    else
        state->word = is_final(state->reason) ? CLAIM_REFUSED : CLAIM_WAITS;
}

bool claim_state_read(const json_t *claim, struct claim_state *ret)
{
    const json_t *metadata = json_object_get(claim, "metadata");
    const json_t *status = json_object_get(claim, "status");
    struct claim_state state = {.word = CLAIM_WAITS};
    size_t i;
    const json_t *condition;
    if (!object_name(json_object_get(metadata, "name"), state.name, sizeof(state.name)) ||
        !object_name(json_object_get(metadata, "uid"), state.uid, sizeof(state.uid)) ||
        !object_name(json_object_get(metadata, "resourceVersion"), state.version,
                     sizeof(state.version)))
        return false;
    state.created_s =
        claim_time_read(json_string_value(json_object_get(metadata, "creationTimestamp")));
    state.deleting = json_is_string(json_object_get(metadata, "deletionTimestamp"));
    (void)object_name(json_object_get(json_object_get(status, "sandbox"), "name"), state.sandbox,
                      sizeof(state.sandbox));
    json_array_foreach(json_object_get(status, "conditions"), i, condition)
    {
        if (is_text(json_object_get(condition, "type"), "Ready"))
            take_condition(condition, &state);
    }
    *ret = state;
    return true;
}

static bool is_about_pool(const char *reason)
{
    return strcmp(reason, "WarmPoolNotFound") == 0 || strcmp(reason, "TemplateNotFound") == 0;
}

void claim_state_explain(const struct claim_state *state, const char *pool, struct api_fault *ret)
{
    if (is_about_pool(state->reason))
        api_fault_set(ret, API_PROBLEM_NO_POOL, "the warm pool %.63s cannot be used: %s: %.110s",
                      pool, state->reason, state->message);
    else if (state->reason[0] != '\0')
        api_fault_set(ret, API_PROBLEM_UNBOUND,
                      "the claim gets no pod of the warm pool %.63s: %s: %.100s", pool,
                      state->reason, state->message);
    else
        api_fault_set(ret, API_PROBLEM_UNBOUND,
                      "no controller has answered the claim of the warm pool %.63s", pool);
}

/* Whether that object is its controller. group: in any version. */
static bool is_kept_by(const json_t *object, const char *group, const char *kind, const char *uid)
{
    const json_t *list = json_object_get(json_object_get(object, "metadata"), "ownerReferences");
    size_t i;
    const json_t *keeper;
    json_array_foreach(list, i, keeper)
    {
        const char *version = json_string_value(json_object_get(keeper, "apiVersion"));
        if (!json_is_true(json_object_get(keeper, "controller")))
            continue;
        return version && strncmp(version, group, strlen(group)) == 0 &&
               version[strlen(group)] == '/' && is_text(json_object_get(keeper, "kind"), kind) &&
               is_text(json_object_get(keeper, "uid"), uid);
    }
    return false;
}

bool claim_sandbox_read(const json_t *sandbox, const char *claim_uid,
                        char ret_uid[POD_VERSION_LIMIT + 1], char ret_pod[POD_NAME_LIMIT + 1])
{
    const json_t *metadata = json_object_get(sandbox, "metadata");
    const json_t *pod =
        json_object_get(json_object_get(metadata, "annotations"), POD_NAME_ANNOTATION);
    const json_t *name = json_string_length(pod) > 0 ? pod : json_object_get(metadata, "name");
    return is_kept_by(sandbox, CLAIM_GROUP, "SandboxClaim", claim_uid) &&
           object_name(json_object_get(metadata, "uid"), ret_uid, POD_VERSION_LIMIT + 1) &&
           object_name(name, ret_pod, POD_NAME_LIMIT + 1);
}

bool claim_pod_is_of(const json_t *pod, const char *sandbox_uid)
{
    return is_kept_by(pod, SANDBOX_GROUP, "Sandbox", sandbox_uid);
}
