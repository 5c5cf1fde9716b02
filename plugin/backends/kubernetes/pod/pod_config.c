/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the variable part of a pod's configuration; pod.json is the constant part. Runs in the
 * kubernetes backend. */
#include "backends/kubernetes/pod/pod_config.h"

#include <sha256.h>
#include <stdio.h>

#include "backends/kubernetes/pod/embedded_pod.h"
#include "base/cleanup.h"

void pod_owner_name(const struct owner *owner, char ret[POD_OWNER_SIZE])
{
    char text[256];
    char digest[SHA256_DIGEST_STRING_LENGTH];
    int length = snprintf(text, sizeof(text), "%s %s %lld %llu", owner->boot, owner->space,
                          (long long)owner->pid, (unsigned long long)owner->start);
    (void)SHA256Data((const uint8_t *)text, (size_t)length, digest);
    (void)snprintf(ret, POD_OWNER_SIZE, "%.32s", digest);
}

static json_t *quantity(uint64_t value)
{
    char text[QUANTITY_SIZE];
    quantity_write(value, text);
    return json_string(text);
}

/* Every volume is in memory. The container writes nothing to its node's disk but a log of the
 * guest's frames, which the kubelet keeps beside the attached stream. */
static json_t *limits(const struct run_description *description)
{
    uint64_t memory = description->limits.memory_bytes;
    json_auto_t *object = json_pack("{s:s, s:s}", "cpu", "1", "ephemeral-storage", "16Mi");
    if (!object || (memory > 0 && json_object_set_new(object, "memory", quantity(memory)) != 0))
        return NULL;
    return TAKE_POINTER(object);
}

/* Each file system may become as large as the run's scratch, beside the files by reference; the
 * memory limit counts what is in all of them. 0: no limit of its own. */
static json_t *volume(const char *name, uint64_t bytes)
{
    json_auto_t *place = json_pack("{s:s}", "medium", "Memory");
    if (!place || (bytes > 0 && json_object_set_new(place, "sizeLimit", quantity(bytes)) != 0))
        return NULL;
    return json_pack("{s:s, s:O}", "name", name, "emptyDir", place);
}

static json_t *volumes(const struct run_description *description)
{
    uint64_t bytes = description->limits.scratch_bytes;
    uint64_t home = bytes ? bytes + run_description_input_bytes(description) : 0;
    return json_pack("[o, o, o]", volume("home", home), volume("tmp", bytes), volume("shm", bytes));
}

static json_t *mounts(void)
{
    return json_pack("[{s:s, s:s}, {s:s, s:s}, {s:s, s:s}]", "name", "home", "mountPath", RUN_HOME,
                     "name", "tmp", "mountPath", "/tmp", "name", "shm", "mountPath", "/dev/shm");
}

static json_t *metadata(const char *run_id, const struct pod_terms *terms)
{
    return json_pack("{s:s, s:{s:s, s:s, s:s, s:s}, s:O}", "name", terms->name, "labels",
                     POD_LABEL_MAKER, POD_MAKER, POD_LABEL_STATE,
                     terms->waits ? POD_IDLE : POD_TAKEN, POD_LABEL_OWNER, terms->owner,
                     POD_LABEL_RUN, run_id, "annotations", terms->marks);
}

/* The members of spec that vary, and are not its container's. */
static json_t *spec(const struct run_description *description, const struct pod_choices *choices,
                    const struct pod_terms *terms)
{
    json_auto_t *object =
        json_pack("{s:o, s:s*, s:s*}", "volumes", volumes(description), "runtimeClassName",
                  choices->runtime_class[0] ? choices->runtime_class : NULL, "serviceAccountName",
                  choices->service_account[0] ? choices->service_account : NULL);
    if (!object || (terms->deadline_s > 0 &&
                    json_object_set_new(object, "activeDeadlineSeconds",
                                        json_integer((json_int_t)terms->deadline_s)) != 0))
        return NULL;
    if (choices->user_namespace && json_object_set_new(object, "hostUsers", json_false()) != 0)
        return NULL;
    if (choices->pull_secret[0] &&
        json_object_set_new(object, "imagePullSecrets",
                            json_pack("[{s:s}]", "name", choices->pull_secret)) != 0)
        return NULL;
    return TAKE_POINTER(object);
}

static json_t *container(const struct run_description *description, const struct pod_terms *terms)
{
    return json_pack("{s:s, s:O, s:s, s:{s:o, s:o}, s:o}", "image", terms->image, "command",
                     terms->command, "workingDir", RUN_HOME, "resources", "limits",
                     limits(description), "requests", limits(description), "volumeMounts",
                     mounts());
}

json_t *pod_config_for_run(const struct run_description *description,
                           const struct pod_choices *choices, const struct pod_terms *terms)
{
    json_auto_t *config = json_loadb(pod_text, pod_length, JSON_REJECT_DUPLICATES, NULL);
    json_auto_t *varying_container = container(description, terms);
    json_auto_t *varying_spec = spec(description, choices, terms);
    json_auto_t *varying_metadata = metadata(description->run_id, terms);
    json_t *constant_spec = json_object_get(config, "spec");
    json_t *constant_container = json_array_get(json_object_get(constant_spec, "containers"), 0);
    if (!config || !varying_container || !varying_spec || !varying_metadata ||
        json_object_update(constant_container, varying_container) != 0 ||
        json_object_update(constant_spec, varying_spec) != 0 ||
        json_object_set(config, "metadata", varying_metadata) != 0)
        return NULL;
    return TAKE_POINTER(config);
}

json_t *pod_config_template(const struct run_description *description,
                            const struct pod_choices *choices, const struct pod_terms *terms)
{
    json_auto_t *config = pod_config_for_run(description, choices, terms);
    return config && json_object_del(config, "metadata") == 0 ? TAKE_POINTER(config) : NULL;
}

json_t *pod_config_waiting(json_t *template, const struct pod_terms *terms)
{
    json_auto_t *config = json_deep_copy(template);
    json_t *spec_of_pod = json_object_get(config, "spec");
    if (!config || json_object_set_new(config, "metadata", metadata(POD_WAITING, terms)) != 0 ||
        json_object_set_new(spec_of_pod, "activeDeadlineSeconds",
                            json_integer((json_int_t)terms->deadline_s)) != 0)
        return NULL;
    return TAKE_POINTER(config);
}
