/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what a derived image is: see derived_image.h. */
#include "backends/docker/image/derived_image.h"

#include <stdio.h>
#include <string.h>

#include "backends/guest_runs/container/engine_members.h"
#include "base/cleanup.h"
#include "guest/messages/guest_protocol.h"

#define LABELS_OF_OURS "code-execute." /* all begin so */

json_t *derived_image_container(const json_t *base, const char *base_id, const char *seccomp,
                                json_t *labels)
{
    json_auto_t *config =
        json_pack("{s:s, s:[s], s:[], s:O, s:b, s:{s:s, s:[s, s+], s:{s:s, s:{}}}}", "Image",
                  base_id, "Entrypoint", GUEST_PATH, "Cmd", "Labels", labels, "NetworkDisabled", 1,
                  "HostConfig", "NetworkMode", "none", "SecurityOpt", "no-new-privileges=true",
                  "seccomp=", seccomp, "LogConfig", "Type", "none", "Config");
    const json_t *own = json_object_get(json_object_get(base, "Config"), "WorkingDir");
    /* An engine makes the directory, where the image lacks it, and it would be in the layer. */
    if (config && !engine_member_is_empty(own) &&
        json_object_set_new(config, "WorkingDir", json_string("/")) != 0)
        return NULL;
    return TAKE_POINTER(config);
}

json_t *derived_image_config(const json_t *base, const struct derived_identity *identity,
                             json_t *owner_labels)
{
    json_t *own = json_object_get(base, "Config");
    json_auto_t *config = json_is_object(own) ? json_copy(own) : json_object();
    json_t *given = json_object_get(own, "Labels");
    json_auto_t *labels = json_is_object(given) ? json_copy(given) : json_object();
    json_auto_t *ours =
        json_pack("{s:s, s:s, s:s*}", DERIVED_LABEL_BASE, identity->base_id, DERIVED_LABEL_GUEST,
                  identity->guest, DERIVED_LABEL_PACKAGES, identity->packages);
    const char *name;
    json_t *value;
    if (!config || !labels || !ours || json_object_update(labels, ours) != 0)
        return NULL;
    json_object_foreach(owner_labels, name, value)
    {
        if (json_object_set_new(labels, name, json_string("")) != 0)
            return NULL;
    }
    /* Empty, the engine takes the container's. */
    if (engine_member_is_empty(json_object_get(own, "Entrypoint")) &&
        json_object_set_new(config, "Entrypoint", json_array()) != 0)
        return NULL;
    return json_object_set(config, "Labels", labels) == 0 ? TAKE_POINTER(config) : NULL;
}

static bool report_difference(char *field, size_t size, const char *parent, const char *name)
{
    (void)snprintf(field, size, "%s%.60s", parent, name);
    return false;
}

static bool is_ours(const char *label)
{
    return strncmp(label, LABELS_OF_OURS, strlen(LABELS_OF_OURS)) == 0;
}

static bool is_text(const json_t *value, const char *text)
{
    const char *own = json_string_value(value);
    return own && strcmp(own, text) == 0;
}

static bool have_same_labels(json_t *base, json_t *image)
{
    const char *name;
    json_t *value;
    json_object_foreach(base, name, value)
    {
        if (!is_ours(name) && !engine_members_are_same(value, json_object_get(image, name)))
            return false;
    }
    json_object_foreach(image, name, value)
    {
        if (!is_ours(name) && !engine_members_are_same(value, json_object_get(base, name)))
            return false;
    }
    return true;
}

/* "Image" names what a build began with, and has no effect. */
static bool is_compared(const char *member)
{
    return strcmp(member, "Labels") != 0 && strcmp(member, "Image") != 0;
}

static bool compare_members(json_t *one, const json_t *other, char *field, size_t size)
{
    const char *name;
    json_t *value;
    json_object_foreach(one, name, value)
    {
        if (is_compared(name) && !engine_members_are_same(value, json_object_get(other, name)))
            return report_difference(field, size, "Config.", name);
    }
    return true;
}

static bool compare_config(json_t *base, json_t *image, char *field, size_t size)
{
    if (!compare_members(base, image, field, size) || !compare_members(image, base, field, size))
        return false;
    if (!have_same_labels(json_object_get(base, "Labels"), json_object_get(image, "Labels")))
        return report_difference(field, size, "Config.", "Labels");
    return true;
}

static const json_t *layers_of(const json_t *image)
{
    return json_object_get(json_object_get(image, "RootFS"), "Layers");
}

static bool has_one_layer_more(const json_t *base, const json_t *image)
{
    size_t count = json_array_size(base);
    if (json_array_size(image) != count + 1)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!json_equal(json_array_get(base, i), json_array_get(image, i)))
            return false;
    return true;
}

bool derived_image_attest(const json_t *base, const struct derived_identity *identity,
                          const json_t *image, char *field, size_t size)
{
    static const char *const members[] = {"Architecture", "Variant", "Os", "OsVersion"};
    json_t *config = json_object_get(image, "Config");
    const json_t *labels = json_object_get(config, "Labels");
    for (size_t i = 0; i < COUNT_OF(members); i++)
        if (!engine_members_are_same(json_object_get(base, members[i]),
                                     json_object_get(image, members[i])))
            return report_difference(field, size, "", members[i]);
    if (!has_one_layer_more(layers_of(base), layers_of(image)))
        return report_difference(field, size, "", "RootFS.Layers");
    if (!is_text(json_object_get(labels, DERIVED_LABEL_BASE), identity->base_id) ||
        !is_text(json_object_get(labels, DERIVED_LABEL_GUEST), identity->guest) ||
        (identity->packages &&
         !is_text(json_object_get(labels, DERIVED_LABEL_PACKAGES), identity->packages)))
        return report_difference(field, size, "Config.", "Labels");
    return compare_config(json_object_get(base, "Config"), config, field, size);
}

const char *derived_image_layer(const json_t *image)
{
    const json_t *layers = layers_of(image);
    size_t count = json_array_size(layers);
    return count ? json_string_value(json_array_get(layers, count - 1)) : NULL;
}

bool derived_image_layer_is_known(const struct guest_identity *guest, const char *layer)
{
    for (size_t i = 0; layer && i < GUEST_LAYERS; i++)
        if (strcmp(guest->layers[i], layer) == 0)
            return true;
    return false;
}

/* Older engines write "<none>:<none>" and "<none>@<none>" for no name. */
static bool has_no_name(const json_t *names)
{
    size_t i;
    const json_t *name;
    json_array_foreach(names, i, name)
    {
        const char *text = json_string_value(name);
        if (!text || strncmp(text, "<none>", strlen("<none>")) != 0)
            return false;
    }
    return true;
}

bool derived_image_is_ours(const json_t *entry)
{
    const json_t *labels = json_object_get(entry, "Labels");
    return json_is_string(json_object_get(labels, DERIVED_LABEL_BASE)) &&
           json_is_string(json_object_get(labels, DERIVED_LABEL_GUEST)) &&
           has_no_name(json_object_get(entry, "RepoTags")) &&
           has_no_name(json_object_get(entry, "RepoDigests"));
}

static const char *label_of(const json_t *entry, const char *name)
{
    return json_string_value(json_object_get(json_object_get(entry, "Labels"), name));
}

static bool have_same_label(const json_t *one, const json_t *other, const char *name)
{
    const char *own = label_of(one, name);
    const char *others = label_of(other, name);
    return own && others && strcmp(own, others) == 0;
}

const char *derived_image_base(const json_t *entry)
{
    return label_of(entry, DERIVED_LABEL_BASE);
}

bool derived_image_is_of_guest(const json_t *entry, const char *digest)
{
    const char *own = label_of(entry, DERIVED_LABEL_GUEST);
    return own && strcmp(own, digest) == 0;
}

bool derived_image_has_packages(const json_t *entry, const char *packages)
{
    const char *own = label_of(entry, DERIVED_LABEL_PACKAGES);
    return packages ? own && strcmp(own, packages) == 0 : !own;
}

bool derived_image_replaces(const json_t *other, const json_t *entry)
{
    return have_same_label(other, entry, DERIVED_LABEL_BASE) &&
           have_same_label(other, entry, DERIVED_LABEL_GUEST) &&
           derived_image_has_packages(other, label_of(entry, DERIVED_LABEL_PACKAGES)) &&
           json_integer_value(json_object_get(other, "Created")) >
               json_integer_value(json_object_get(entry, "Created"));
}

bool derived_image_base_is_named(const json_t *base)
{
    return !has_no_name(json_object_get(base, "RepoTags")) ||
           !has_no_name(json_object_get(base, "RepoDigests"));
}

bool derived_image_is_older(const json_t *entry, int64_t now, int64_t seconds)
{
    const json_t *created = json_object_get(entry, "Created");
    return json_is_integer(created) && json_integer_value(created) > 0 &&
           now - json_integer_value(created) > seconds;
}
