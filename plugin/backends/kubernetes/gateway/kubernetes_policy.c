/* SPDX-License-Identifier: Apache-2.0 */
/* The policy's kubernetes section, and the variables that name a cluster: see kubernetes_policy.h.
 */
#include "backends/kubernetes/gateway/kubernetes_policy.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "backends/kubernetes/messages/kubernetes_messages.h"
#include "base/ascii.h"
#include "base/cleanup.h"
#include "policy/configuration.h"
#include "policy/policy_parse.h"

struct section {
    struct kubernetes_options options;
    bool user_namespace;
};

/* RFC 1123, as the API server demands it: small letters, digits and "-", for a subdomain "." too,
 * at both ends no sign. */
static bool is_object_name(const char *name, const char *allowed)
{
    return ascii_consists_of(name, SIZE_MAX, allowed) && ascii_is_alphanumeric(name[0]) &&
           ascii_is_alphanumeric(name[strlen(name) - 1]);
}

static bool check_namespace(const struct json_place *place, const char *name)
{
    return is_object_name(name, ASCII_LOWER ASCII_DIGITS "-") ||
           json_place_refuse(place, "must be a namespace's name: small letters, digits and \"-\"");
}

static bool check_name(const struct json_place *place, const char *name)
{
    return is_object_name(name, ASCII_LOWER ASCII_DIGITS "-.") ||
           json_place_refuse(place, "must be an object's name in the cluster: small letters, "
                                    "digits, \"-\" and \".\"");
}

#define AT(member) .offset = offsetof(struct section, options.member)

static const struct json_member members[] = {
    {"kubeconfig", &member_text, AT(kubeconfig), 1, POLICY_STRING_LIMIT, .optional = true,
     .check = json_check_absolute_path},
    {"context", &member_text, AT(context), 1, KUBERNETES_TEXT_LIMIT, .optional = true,
     .check = json_check_printable},
    {"namespace", &member_text, AT(name_space), 1, KUBERNETES_NAME_LIMIT, .optional = true,
     .check = check_namespace},
    {"runtime_class", &member_text, AT(runtime_class), 1, KUBERNETES_TEXT_LIMIT, .optional = true,
     .check = check_name},
    {"service_account", &member_text, AT(service_account), 1, KUBERNETES_TEXT_LIMIT,
     .optional = true, .check = check_name},
    {"pull_secret", &member_text, AT(pull_secret), 1, KUBERNETES_TEXT_LIMIT, .optional = true,
     .check = check_name},
    {"warm_pool", &member_text, AT(warm_pool), 1, KUBERNETES_TEXT_LIMIT, .optional = true,
     .check = check_name},
    {"user_namespace", &member_boolean, .offset = offsetof(struct section, user_namespace),
     .optional = true},
    /* For the check of images: see read_images(). */
    {.name = "images"},
    {.name = "offered"},
    {0},
};

static void clear_section(struct section *section)
{
    json_clear_members(members, section);
}

/* They have the guest in them, so they are others than those of an engine. Nodes fetch them, and
 * only by their digests. */
static bool read_images(const struct json_place *place, json_t *value, struct policy *policy)
{
    policy->images[SANDBOX_MODE_KUBERNETES] =
        (struct policy_images){.require_digest = true, .pull = RUN_PULL_NEVER};
    return policy_read_images(place, value, SANDBOX_MODE_KUBERNETES, policy);
}

bool kubernetes_policy_read(const struct json_place *place, json_t *section, struct policy *policy,
                            struct wire_bytes *ret)
{
    CLEANUP(clear_section) struct section read = {.user_namespace = false};
    if (!section)
        return !policy->mode_allowed[SANDBOX_MODE_KUBERNETES] ||
               json_place_refuse(place, "is missing: a policy that allows mode kubernetes names "
                                        "its images there");
    if (!json_read_members(place, section, members, &read) || !read_images(place, section, policy))
        return false;
    read.options.user_namespace = read.user_namespace;
    return kubernetes_options_write(&read.options, ret) || json_place_out_of_memory(place);
}

/* From the policy, else KUBECONFIG, else the gateway's own pod. Never ~/.kube/config by default: it
 * may have an administrator's rights. */
static bool choose_cluster(struct kubernetes_options *options, struct error *error)
{
    if (!configuration_take_variable("KUBECONFIG", PATH_MAX - 1, &options->kubeconfig, error))
        return false;
    if (options->kubeconfig[0] != '\0' && options->kubeconfig[0] != '/') {
        error_set(error, ERROR_INVALID_POLICY, "KUBECONFIG must be one absolute path");
        return false;
    }
    return configuration_take_variable("KUBERNETES_SERVICE_HOST", KUBERNETES_TEXT_LIMIT,
                                       &options->service_host, error) &&
           configuration_take_variable("KUBERNETES_SERVICE_PORT", KUBERNETES_NAME_LIMIT,
                                       &options->service_port, error);
}

bool kubernetes_policy_add_environment(struct wire_bytes *bytes, struct error *error)
{
    CLEANUP(kubernetes_options_clear) struct kubernetes_options options = {.kubeconfig = NULL};
    if (bytes->length == 0)
        return true; /* the policy has no such section, and does not allow the mode */
    if (kubernetes_options_read(bytes, &options)) {
        if (!choose_cluster(&options, error))
            return false;
        if (kubernetes_options_write(&options, bytes))
            return true;
    }
    error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the cluster's options");
    return false;
}
