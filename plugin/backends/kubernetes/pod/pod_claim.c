/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the claim of a pod that waits: see pod_config.h. Runs in the kubernetes backend. */
#include <inttypes.h>

#include "backends/kubernetes/pod/pod_config.h"
#include "base/cleanup.h"

/* Labels and annotations of ours need no "~1": there is no "/" in them. */
#define LABEL(name)      "/metadata/labels/" name
#define ANNOTATION(name) "/metadata/annotations/" name

static json_t *write_patch(const char *uid, const char *run_id, const char *latest,
                           uint64_t deadline_s)
{
    return json_pack("[{s:s, s:s, s:s}, {s:s, s:s, s:s}, {s:s, s:s, s:s}, {s:s, s:s, s:s},"
                     " {s:s, s:s, s:s}, {s:s, s:s, s:s}, {s:s, s:s, s:I}]",
                     "op", "test", "path", "/metadata/uid", "value", uid, "op", "test", "path",
                     LABEL(POD_LABEL_STATE), "value", POD_IDLE, "op", "replace", "path",
                     LABEL(POD_LABEL_STATE), "value", POD_TAKEN, "op", "replace", "path",
                     LABEL(POD_LABEL_RUN), "value", run_id, "op", "add", "path",
                     ANNOTATION(OWNER_LABEL_RUN), "value", run_id, "op", "add", "path",
                     ANNOTATION(OWNER_LABEL_LATEST), "value", latest, "op", "add", "path",
                     "/spec/activeDeadlineSeconds", "value", (json_int_t)deadline_s);
}

bool pod_claim_write(const json_t *config, const char *uid, const char *run_id, int64_t latest,
                     uint64_t deadline_s, json_t **ret_patch, json_t **ret_config)
{
    char time[24];
    (void)snprintf(time, sizeof(time), "%" PRId64, latest);
    json_auto_t *patch = write_patch(uid, run_id, time, deadline_s);
    json_auto_t *claimed = json_deep_copy(config);
    json_t *metadata = json_object_get(claimed, "metadata");
    json_t *labels = json_object_get(metadata, "labels");
    json_t *annotations = json_object_get(metadata, "annotations");
    if (!patch || json_object_set_new(labels, POD_LABEL_STATE, json_string(POD_TAKEN)) != 0 ||
        json_object_set_new(labels, POD_LABEL_RUN, json_string(run_id)) != 0 ||
        json_object_set_new(annotations, OWNER_LABEL_RUN, json_string(run_id)) != 0 ||
        json_object_set_new(annotations, OWNER_LABEL_LATEST, json_string(time)) != 0 ||
        json_object_set_new(json_object_get(claimed, "spec"), "activeDeadlineSeconds",
                            json_integer((json_int_t)deadline_s)) != 0)
        return false;
    *ret_patch = TAKE_POINTER(patch);
    *ret_config = TAKE_POINTER(claimed);
    return true;
}
