/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the reading of pods and watches: see pod_state.h. Runs in the kubernetes backend. */
#include "backends/kubernetes/pod/pod_state.h"

#include <string.h>

#include "backends/kubernetes/pod/object_text.h"
#include "backends/kubernetes/pod/pod_config.h"
#include "base/cleanup.h"

#define STATUS_GONE 410

/* Another pod tries this address; a text that is no address is left out. */
static void copy_address(const json_t *text, char ret[POD_ADDRESS_LIMIT + 1])
{
    const char *value = json_string_value(text);
    if (value && strlen(value) <= POD_ADDRESS_LIMIT &&
        value[strspn(value, "0123456789abcdefABCDEF.:")] == '\0')
        memcpy(ret, value, strlen(value) + 1);
}

static enum pod_phase read_phase(const json_t *phase)
{
    static const char *const names[] = {
        [POD_PENDING] = "Pending",
        [POD_RUNNING] = "Running",
        [POD_SUCCEEDED] = "Succeeded",
        [POD_FAILED] = "Failed",
    };
    const char *name = json_string_value(phase);
    for (size_t i = 0; name && i < COUNT_OF(names); i++)
        if (strcmp(names[i], name) == 0)
            return (enum pod_phase)i;
    return POD_UNKNOWN;
}

static void take_reason(const json_t *from, struct pod_state *state)
{
    if (!json_is_string(json_object_get(from, "reason")))
        return;
    object_text(json_object_get(from, "reason"), state->reason, sizeof(state->reason));
    object_text(json_object_get(from, "message"), state->message, sizeof(state->message));
}

/* A pod that cannot be scheduled says so in a condition alone. */
static void take_conditions(const json_t *conditions, struct pod_state *state)
{
    size_t i;
    json_t *condition;
    json_array_foreach(conditions, i, condition)
    {
        const char *type = json_string_value(json_object_get(condition, "type"));
        const char *status = json_string_value(json_object_get(condition, "status"));
        if (type && status && strcmp(type, "PodScheduled") == 0 && strcmp(status, "False") == 0)
            take_reason(condition, state);
    }
}

static void take_container(const json_t *container, struct pod_state *state)
{
    const json_t *now = json_object_get(container, "state");
    const json_t *ended = json_object_get(now, "terminated");
    state->running = json_is_object(json_object_get(now, "running"));
    state->terminated = json_is_object(ended);
    if (state->terminated)
        state->exit_code = (int)json_integer_value(json_object_get(ended, "exitCode"));
    take_reason(json_object_get(now, "waiting"), state);
    take_reason(ended, state);
}

static void take_containers(const json_t *containers, struct pod_state *state)
{
    size_t i;
    json_t *container;
    json_array_foreach(containers, i, container)
    {
        const char *name = json_string_value(json_object_get(container, "name"));
        if (name && strcmp(name, POD_CONTAINER) == 0)
            take_container(container, state);
    }
}

bool pod_state_read(const json_t *pod, struct pod_state *ret)
{
    const json_t *metadata = json_object_get(pod, "metadata");
    const json_t *status = json_object_get(pod, "status");
    const json_t *labels = json_object_get(metadata, "labels");
    struct pod_state state = {.phase = read_phase(json_object_get(status, "phase"))};
    if (!object_name(json_object_get(metadata, "name"), state.name, sizeof(state.name)) ||
        !object_name(json_object_get(metadata, "uid"), state.uid, sizeof(state.uid)) ||
        !object_name(json_object_get(metadata, "resourceVersion"), state.version,
                     sizeof(state.version)))
        return false;
    (void)object_name(json_object_get(labels, POD_LABEL_RUN), state.run, sizeof(state.run));
    state.deleting = json_is_string(json_object_get(metadata, "deletionTimestamp"));
    /* A name that would be cut could mean two nodes. */
    (void)object_name(json_object_get(json_object_get(pod, "spec"), "nodeName"), state.node,
                      sizeof(state.node));
    copy_address(json_object_get(status, "podIP"), state.address);
    take_conditions(json_object_get(status, "conditions"), &state);
    take_containers(json_object_get(status, "containerStatuses"), &state);
    take_reason(status, &state); /* the kubelet's action explains more than its outcome */
    *ret = state;
    return true;
}

static bool read_failure(const json_t *status, enum pod_change *ret, struct pod_state *ret_state)
{
    const json_t *code = json_object_get(status, "code");
    *ret_state = (struct pod_state){.phase = POD_UNKNOWN};
    object_text(json_object_get(status, "message"), ret_state->message, sizeof(ret_state->message));
    *ret = json_integer_value(code) == STATUS_GONE ? POD_CHANGE_OUTDATED : POD_CHANGE_FAILED;
    return true;
}

static bool read_version(const json_t *object, enum pod_change *ret, struct pod_state *ret_state)
{
    const json_t *metadata = json_object_get(object, "metadata");
    struct pod_state state = {.phase = POD_UNKNOWN};
    if (!object_name(json_object_get(metadata, "resourceVersion"), state.version,
                     sizeof(state.version)))
        return false;
    *ret_state = state;
    *ret = POD_CHANGE_NONE;
    return true;
}

static bool read_event(const char *type, const json_t *object, enum pod_change *ret,
                       struct pod_state *ret_state)
{
    if (strcmp(type, "ERROR") == 0)
        return read_failure(object, ret, ret_state);
    bool is_deleted = strcmp(type, "DELETED") == 0;
    if (!is_deleted && strcmp(type, "ADDED") != 0 && strcmp(type, "MODIFIED") != 0)
        return read_version(object, ret, ret_state);
    if (!pod_state_read(object, ret_state))
        return false;
    *ret = is_deleted ? POD_CHANGE_DELETED : POD_CHANGE_THERE;
    return true;
}

bool pod_watch_read(const char *line, size_t length, enum pod_change *ret,
                    struct pod_state *ret_state, json_t **ret_object)
{
    json_auto_t *event = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
    const char *type = json_string_value(json_object_get(event, "type"));
    json_t *object = json_object_get(event, "object");
    if (!type || !json_is_object(object) || !read_event(type, object, ret, ret_state))
        return false;
    *ret_object = json_incref(object);
    return true;
}

bool pod_state_is_hopeless(const struct pod_state *state)
{
    static const char *const reasons[] = {
        "ErrImagePull",
        "ImagePullBackOff",
        "InvalidImageName",
        "ErrImageNeverPull",
        "CreateContainerConfigError",
        "CreateContainerError",
        "RunContainerError",
        "Evicted",
    };
    for (size_t i = 0; i < COUNT_OF(reasons); i++)
        if (!state->running && strcmp(state->reason, reasons[i]) == 0)
            return true;
    return state->phase == POD_FAILED || state->phase == POD_SUCCEEDED;
}
