/* SPDX-License-Identifier: Apache-2.0 */
/* What the policy leaves of the input schema. Runs in the gateway, on the thread inside
 * tool_status() or tool_prepare(). */
#include "offer.h"

#include <stdbool.h>
#include <string.h>

#include "capability.h"
#include "cleanup.h"
#include "input_schema.h"

static json_t *language_names(const struct policy *policy)
{
    json_auto_t *names = json_array();
    for (size_t i = 0; i < policy->language_count; i++)
        if (json_array_append_new(names, json_string(policy->languages[i].name)) != 0)
            return NULL;
    return TAKE_POINTER(names);
}

static uint64_t longest_wall_ms(const struct policy *policy)
{
    uint64_t longest = 0;
    for (size_t i = 0; i < policy->language_count; i++)
        if (policy->languages[i].limits.wall_ms.maximum > longest)
            longest = policy->languages[i].limits.wall_ms.maximum;
    return longest;
}

static bool grants(const struct policy *policy, enum capability capability)
{
    return capability_list_grants(policy->capabilities, capability, NULL);
}

/* A list may grant a single secret or endpoint, so such a capability is looked for in any entry. */
static bool grants_a_part(const struct policy *policy, enum capability capability)
{
    const char *name = capability_name(capability);
    for (char *const *entry = policy->capabilities; *entry != NULL; entry++)
        if (strncmp(*entry, name, strlen(name)) == 0)
            return true;
    return grants(policy, capability);
}

/* Members of requests that this configuration refuses whatever their value is. */
static void remove_refused(json_t *properties, const struct configuration *configuration)
{
    const struct policy *policy = configuration->policy;
    const struct {
        const char *name;
        bool offered;
    } members[] = {
        {"network", policy->network_allowed && grants_a_part(policy, CAPABILITY_NETWORK)},
        {"secrets", policy->secrets != NULL && policy->secrets[0] != NULL &&
                        grants_a_part(policy, CAPABILITY_SECRETS)},
        {"files", grants(policy, CAPABILITY_FILES)},
        {"image", configuration->mode == SANDBOX_MODE_DOCKER && grants(policy, CAPABILITY_IMAGE)},
        {"session", false}, /* not in this version */
    };
    for (size_t i = 0; i < COUNT_OF(members); i++)
        if (!members[i].offered)
            (void)json_object_del(properties, members[i].name);
}

json_t *offer_input_schema(const struct configuration *configuration)
{
    json_auto_t *schema = input_schema();
    json_t *properties = json_object_get(schema, "properties");
    json_t *timeout = json_object_get(properties, "timeout_ms");
    if (json_object_set_new(json_object_get(properties, "language"), "enum",
                            language_names(configuration->policy)) != 0 ||
        json_object_set_new(timeout, "maximum",
                            json_integer((json_int_t)longest_wall_ms(configuration->policy))) != 0)
        return NULL;
    remove_refused(properties, configuration);
    return TAKE_POINTER(schema);
}
