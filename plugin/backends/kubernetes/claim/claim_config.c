/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the body of a claim, its read-back, and the PATCH that binds its pod: see claim_config.h.
 * Runs in the kubernetes backend. */
#include "backends/kubernetes/claim/claim_config.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "backends/guest_runs/container/engine_members.h"
#include "backends/kubernetes/claim/claim_state.h"
#include "base/cleanup.h"

static json_t *lifecycle(int64_t latest_s)
{
    char text[32];
    struct tm parts;
    time_t time = (time_t)latest_s;
    if (!gmtime_r(&time, &parts) || strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
        return NULL;
    return json_pack("{s:s, s:s, s:i}", "shutdownTime", text, "shutdownPolicy", "Delete",
                     "ttlSecondsAfterFinished", CLAIM_FINISHED_S);
}

json_t *claim_write(const struct claim_terms *terms)
{
    return json_pack("{s:s, s:s, s:{s:s, s:{s:s, s:s, s:s}, s:O}, s:{s:{s:s}, s:o}}", "apiVersion",
                     CLAIM_GROUP "/v1beta1", "kind", "SandboxClaim", "metadata", "name",
                     terms->name, "labels", POD_LABEL_MAKER, POD_MAKER, POD_LABEL_OWNER,
                     terms->owner, POD_LABEL_RUN, terms->run_id, "annotations", terms->marks,
                     "spec", "warmPoolRef", "name", terms->pool, "lifecycle",
                     lifecycle(terms->latest_s));
}

/* Whether the second has each member of the first, with equal values; it may have more. */
static bool has_all(json_t *asked, const json_t *made)
{
    const char *name;
    json_t *value;
    if (!json_is_object(asked))
        return json_equal(asked, made);
    json_object_foreach(asked, name, value)
    {
        if (!has_all(value, json_object_get(made, name)))
            return false;
    }
    return true;
}

bool claim_attest(const json_t *asked, const json_t *made, char *field, size_t size)
{
    json_t *asked_spec = json_object_get(asked, "spec");
    json_t *made_spec = json_object_get(made, "spec");
    const char *name;
    json_t *value;
    json_object_foreach(asked_spec, name, value)
    {
        if (!has_all(value, json_object_get(made_spec, name))) {
            (void)snprintf(field, size, "spec.%.60s", name);
            return false;
        }
    }
    json_object_foreach(made_spec, name, value)
    {
        if (!json_object_get(asked_spec, name) && !engine_member_is_empty(value)) {
            (void)snprintf(field, size, "spec.%.60s", name);
            return false;
        }
    }
    return true;
}

bool claim_bind_write(const json_t *config, const char *uid, const char *owner, const char *run_id,
                      uint64_t deadline_s, json_t **ret_patch, json_t **ret_config)
{
    json_auto_t *patch =
        json_pack("[{s:s, s:s, s:s}, {s:s, s:s, s:s}, {s:s, s:s, s:s}, {s:s, s:s, s:I}]", "op",
                  "test", "path", "/metadata/uid", "value", uid, "op", "add", "path",
                  "/metadata/labels/" POD_LABEL_OWNER, "value", owner, "op", "add", "path",
                  "/metadata/labels/" POD_LABEL_RUN, "value", run_id, "op", "add", "path",
                  "/spec/activeDeadlineSeconds", "value", (json_int_t)deadline_s);
    json_auto_t *bound = json_deep_copy(config);
    if (!patch || !bound ||
        json_object_set_new(
            json_object_get(bound, "metadata"), "labels",
            json_pack("{s:s, s:s}", POD_LABEL_OWNER, owner, POD_LABEL_RUN, run_id)) != 0 ||
        json_object_set_new(json_object_get(bound, "spec"), "activeDeadlineSeconds",
                            json_integer((json_int_t)deadline_s)) != 0)
        return false;
    *ret_patch = TAKE_POINTER(patch);
    *ret_config = TAKE_POINTER(bound);
    return true;
}
