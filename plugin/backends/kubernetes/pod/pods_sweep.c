/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the sweep: pods whose gateway has ended are removed. See pods.h. Runs in the kubernetes
 * backend. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/kubernetes/pod/pods_private.h"
#include "base/cleanup.h"

#define STATUS_NOT_FOUND 404
#define STATUS_CONFLICT  409

struct pods_sweep {
    struct pods *pods;
    char collection[API_PATH_LIMIT / 2];
    pods_swept *done;
    void *user;
    size_t pending; /* removals under way, and one for the list itself */
    struct pods_sweep_result result;
};

static void release(struct pods_sweep *sweep)
{
    if (--sweep->pending > 0)
        return;
    if (sweep->done)
        sweep->done(sweep->user, &sweep->result);
    free(sweep);
}

static void count_removal(void *user, const struct api_answer *answer)
{
    struct pods_sweep *sweep = user;
    bool is_gone = answer->fault.problem == API_PROBLEM_NONE &&
                   ((answer->status >= 200 && answer->status < 300) ||
                    answer->status == STATUS_NOT_FOUND || answer->status == STATUS_CONFLICT);
    if (is_gone)
        sweep->result.removed++;
    else
        sweep->result.left++; /* met by the next sweep */
    release(sweep);
}

/* Deletes only the listed pod (by uid). The node ends its processes; the sweep does not wait for
 * that. */
static void remove_stray(struct pods_sweep *sweep, const struct pod_state *state)
{
    char path[API_PATH_LIMIT];
    json_auto_t *body =
        json_pack("{s:s, s:s, s:i, s:{s:s}}", "apiVersion", "v1", "kind", "DeleteOptions",
                  "gracePeriodSeconds", 1, "preconditions", "uid", state->uid);
    CLEANUP_FREE char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    (void)snprintf(path, sizeof(path), "%s/%s", sweep->collection, state->name);
    const struct api_request request = {
        .server = sweep->pods->server,
        .method = "DELETE",
        .path = path,
        .body = text,
        .timeout_ms = API_TIME_MS,
        .done = count_removal,
        .user = sweep,
    };
    if (text && api_call_start(sweep->pods->client, &request))
        sweep->pending++;
    else
        sweep->result.left++;
}

static void take_list(void *user, const struct api_answer *answer)
{
    struct pods_sweep *sweep = user;
    struct owner self;
    size_t i;
    const json_t *pod;
    json_auto_t *list =
        api_answer_take(answer, "list what gateways have left", &sweep->result.fault);
    const json_t *items = owner_self(&self) ? json_object_get(list, "items") : NULL;
    json_array_foreach(items, i, pod)
    {
        struct pod_state state;
        const json_t *marks = json_object_get(json_object_get(pod, "metadata"), "annotations");
        if (pod_state_read(pod, &state) && !state.deleting &&
            owner_is_stray(marks, &self, (int64_t)time(NULL), owner_look))
            remove_stray(sweep, &state);
    }
    release(sweep);
}

struct pods_sweep *pods_sweep_objects(struct pods *pods, const char *path, pods_swept *done,
                                      void *user)
{
    struct pods_sweep *sweep = malloc(sizeof(*sweep));
    if (!sweep)
        return NULL;
    *sweep = (struct pods_sweep){.pods = pods, .done = done, .user = user, .pending = 1};
    (void)snprintf(sweep->collection, sizeof(sweep->collection), "%s", path);
    char list[API_PATH_LIMIT];
    (void)snprintf(list, sizeof(list), "%s?labelSelector=%s%%3D%s", sweep->collection,
                   "app.kubernetes.io%2Fmanaged-by", POD_MAKER);
    const struct api_request request = {
        .server = pods->server,
        .method = "GET",
        .path = list,
        .timeout_ms = API_TIME_MS,
        .done = take_list,
        .user = sweep,
    };
    if (api_call_start(pods->client, &request))
        return sweep;
    free(sweep);
    return NULL;
}

struct pods_sweep *pods_sweep_start(struct pods *pods, pods_swept *done, void *user)
{
    char path[API_PATH_LIMIT / 2];
    (void)snprintf(path, sizeof(path), "/api/v1/namespaces/%s/pods", pods->name_space);
    return pods_sweep_objects(pods, path, done, user);
}

void pods_sweep_disown(struct pods_sweep *sweep)
{
    if (sweep)
        sweep->done = NULL;
}
