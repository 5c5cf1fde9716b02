/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the comparison of the pod asked for and the one made: see pod_config.h. Runs in the
 * kubernetes backend. */
#include <stdio.h>
#include <string.h>

#include "backends/guest_runs/container/engine_members.h"
#include "backends/kubernetes/pod/pod_config.h"
#include "base/cleanup.h"

/* Members that an API server or an admission controller fills in, and that do not weaken the
 * isolation. */
static const char *const spec_choices[] = {
    "nodeName",       /* the scheduler's */
    "nodeSelector",   /* the choice of nodes, by a runtime class and the operator's rules */
    "tolerations",    /* the same */
    "affinity",       /* the same */
    "schedulerName",  /* the default */
    "serviceAccount", /* the older name of serviceAccountName; no token is mounted */
    "serviceAccountName",
    "imagePullSecrets", /* the service account's: they are used by the kubelet, and not mounted */
    "priority",         /* of the cluster */
    "priorityClassName",
    "preemptionPolicy",
    "overhead", /* a runtime class's: counted on top of the limits */
    NULL,
};

static const char *const container_choices[] = {
    "terminationMessagePath", /* a file that the kubelet reads */
    NULL,
};

static const char *const none[] = {NULL};

struct report {
    char *field;
    size_t size;
};

static bool is_listed(const char *const *list, const char *name)
{
    for (; *list; list++)
        if (strcmp(*list, name) == 0)
            return true;
    return false;
}

static bool differs(const struct report *report, const char *place, const char *name)
{
    (void)snprintf(report->field, report->size, "%s%.60s", place, name);
    return false;
}

/* Requested members must be there; others must be empty or left to the server. The members in
 * "apart" are compared elsewhere. */
static bool compare(json_t *asked, json_t *made, const char *const *choices,
                    const char *const *apart, const char *place, const struct report *report)
{
    const char *name;
    json_t *value;
    if (!json_is_object(made))
        return differs(report, place, "");
    json_object_foreach(asked, name, value)
    {
        if (!is_listed(apart, name) && !engine_members_are_same(value, json_object_get(made, name)))
            return differs(report, place, name);
    }
    json_object_foreach(made, name, value)
    {
        if (!json_object_get(asked, name) && !engine_member_is_empty(value) &&
            !is_listed(choices, name))
            return differs(report, place, name);
    }
    return true;
}

static bool compare_container(const json_t *asked, const json_t *made, const struct report *report)
{
    const json_t *asked_list = json_object_get(asked, "containers");
    const json_t *made_list = json_object_get(made, "containers");
    if (json_array_size(made_list) != 1)
        return differs(report, "spec.", "containers");
    return compare(json_array_get(asked_list, 0), json_array_get(made_list, 0), container_choices,
                   none, "spec.containers[0].", report);
}

/* Our labels must be there unchanged, because rules of the cluster select pods by them. Further
 * labels have no effect here. */
static bool compare_labels(const json_t *asked, const json_t *made, const struct report *report)
{
    const json_t *labels = json_object_get(made, "labels");
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(asked, "labels"), name, value)
    {
        if (!json_equal(value, json_object_get(labels, name)))
            return differs(report, "metadata.labels.", name);
    }
    return true;
}

bool pod_attest(const json_t *asked, const json_t *made, char *field, size_t size)
{
    static const char *const apart[] = {"containers", NULL};
    const struct report report = {field, size};
    json_t *asked_spec = json_object_get(asked, "spec");
    json_t *made_spec = json_object_get(made, "spec");
    return compare_labels(json_object_get(asked, "metadata"), json_object_get(made, "metadata"),
                          &report) &&
           compare_container(asked_spec, made_spec, &report) &&
           compare(asked_spec, made_spec, spec_choices, apart, "spec.", &report);
}
