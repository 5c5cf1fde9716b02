/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the permitted differences between a pod of an operator's template and a pod of our own: see
 * claim_config.h. Runs in the kubernetes backend. */
#include <stdio.h>
#include <string.h>

#include "backends/guest_runs/container/engine_members.h"
#include "backends/kubernetes/claim/claim_config.h"
#include "base/cleanup.h"

/* The controller may remove such a pod too, and its node must confirm the end. Without a grace
 * period the API forgets a pod while its processes go on. */
#define TEMPLATE_GRACE_S 1

static json_t *container_of(const json_t *pod)
{
    return json_array_get(json_object_get(json_object_get(pod, "spec"), "containers"), 0);
}

/* Equal as numbers; or both not given. */
static bool are_same_sizes(const json_t *one, const json_t *other)
{
    uint64_t first = 0;
    uint64_t second = 0;
    if (!one || !other)
        return !one && !other;
    return quantity_read(json_string_value(one), &first) &&
           quantity_read(json_string_value(other), &second) && first == second;
}

/* At least as much; one without a limit has enough. */
static bool is_large_enough(const json_t *asked, const json_t *made)
{
    uint64_t wanted = 0;
    uint64_t given = 0;
    if (!asked || !made)
        return !made;
    return quantity_read(json_string_value(asked), &wanted) &&
           quantity_read(json_string_value(made), &given) && given >= wanted;
}

/* Another one may be a device of the node. */
static bool has_known_names(json_t *list)
{
    const char *name;
    json_t *value;
    json_object_foreach(list, name, value)
    {
        if (strcmp(name, "cpu") != 0 && strcmp(name, "memory") != 0 &&
            strcmp(name, "ephemeral-storage") != 0)
            return false;
    }
    return true;
}

/* The limit of memory must be the run's. The operator chooses those of processors and of the node's
 * disk, but both must be there. */
static bool are_fit_resources(const json_t *asked, json_t *made)
{
    json_t *limits = json_object_get(made, "limits");
    const char *name;
    json_t *value;
    json_object_foreach(made, name, value)
    {
        if (strcmp(name, "limits") != 0 && strcmp(name, "requests") != 0 &&
            !engine_member_is_empty(value))
            return false;
    }
    return are_same_sizes(json_object_get(json_object_get(asked, "limits"), "memory"),
                          json_object_get(limits, "memory")) &&
           json_string_length(json_object_get(limits, "cpu")) > 0 &&
           json_string_length(json_object_get(limits, "ephemeral-storage")) > 0 &&
           has_known_names(limits) && has_known_names(json_object_get(made, "requests"));
}

/* Compares the volumes apart from their size. */
static bool is_same_volume(const json_t *asked, const json_t *made)
{
    json_auto_t *copy = json_deep_copy(made);
    json_t *place = json_object_get(copy, "emptyDir");
    json_t *size = json_object_get(json_object_get(asked, "emptyDir"), "sizeLimit");
    (void)json_object_del(place, "sizeLimit");
    if (size && json_object_set(place, "sizeLimit", size) != 0)
        return false;
    return json_equal(asked, copy);
}

static bool are_fit_volumes(const json_t *asked, const json_t *made)
{
    size_t i;
    const json_t *volume;
    if (json_array_size(asked) != json_array_size(made))
        return false;
    json_array_foreach(asked, i, volume)
    {
        const json_t *other = json_array_get(made, i);
        const char *name = json_string_value(json_object_get(volume, "name"));
        const json_t *size = json_object_get(json_object_get(volume, "emptyDir"), "sizeLimit");
        const json_t *given = json_object_get(json_object_get(other, "emptyDir"), "sizeLimit");
        bool is_home = name && strcmp(name, "home") == 0;
        if (!is_same_volume(volume, other) ||
            !(is_home ? is_large_enough(size, given) : are_same_sizes(size, given)))
            return false;
    }
    return true;
}

static json_t *refuse(const char *place, char *field, size_t size)
{
    (void)snprintf(field, size, "%s", place);
    return NULL;
}

/* What may differ is from now on as it was found. */
static json_t *take_over(const json_t *asked, const json_t *made)
{
    json_auto_t *config = json_deep_copy(asked);
    json_t *spec = json_object_get(config, "spec");
    const json_t *name = json_object_get(json_object_get(made, "metadata"), "name");
    json_auto_t *metadata = json_pack("{s:O}", "name", name);
    if (!metadata || json_object_set(config, "metadata", metadata) != 0 ||
        json_object_set_new(spec, "terminationGracePeriodSeconds",
                            json_integer(TEMPLATE_GRACE_S)) != 0 ||
        json_object_set(spec, "volumes",
                        json_object_get(json_object_get(made, "spec"), "volumes")) != 0 ||
        json_object_set(container_of(config), "resources",
                        json_object_get(container_of(made), "resources")) != 0)
        return NULL;
    return TAKE_POINTER(config);
}

json_t *claim_expect_pod(const json_t *asked, const json_t *made, char *field, size_t size)
{
    const json_t *labels = json_object_get(json_object_get(made, "metadata"), "labels");
    if (json_object_get(labels, POD_LABEL_RUN))
        return refuse("metadata.labels." POD_LABEL_RUN, field, size);
    if (!are_fit_resources(json_object_get(container_of(asked), "resources"),
                           json_object_get(container_of(made), "resources")))
        return refuse("spec.containers[0].resources", field, size);
    if (!are_fit_volumes(json_object_get(json_object_get(asked, "spec"), "volumes"),
                         json_object_get(json_object_get(made, "spec"), "volumes")))
        return refuse("spec.volumes", field, size);
    field[0] = '\0';
    json_auto_t *config = take_over(asked, made);
    if (!config || !pod_attest(config, made, field, size))
        return NULL;
    return TAKE_POINTER(config);
}
