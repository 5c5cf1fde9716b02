/* SPDX-License-Identifier: Apache-2.0 */
/* The endpoints in the words for a model: see offer_endpoints.h. Runs in the gateway, on the thread
 * inside tool_invoke(), tool_status() or tool_prepare(). */
#include "gate/offer/offer_endpoints.h"

#include <stdio.h>
#include <string.h>

#include "gate/offer/offer_list.h"
#include "vocabulary/capability.h"

#define LINE_LIMIT 640 /* a name, a description, and what is between them */
#define MORE_LIMIT 64  /* of the line for those that do not fit */

static bool is_offered(const struct offer *offer, const struct policy_endpoint *endpoint)
{
    const char *name = endpoint->order.name;
    return !policy_mode_row(offer->configuration->policy, offer->configuration->mode)
                ->no_endpoints &&
           offer_grants(offer, CAPABILITY_ENDPOINTS, name) &&
           (!offer->narrowing || narrowing_leaves_endpoint(offer->narrowing, name));
}

bool offer_endpoints_has_some(const struct offer *offer)
{
    const struct policy *policy = offer->configuration->policy;
    for (size_t i = 0; i < policy->endpoint_count; i++)
        if (is_offered(offer, &policy->endpoints[i]))
            return true;
    return false;
}

static void write_line(const struct policy_endpoint *endpoint, char ret[LINE_LIMIT])
{
    const char *words = endpoint->description;
    (void)snprintf(ret, LINE_LIMIT, "\n- %s%s%s%s", endpoint->order.name,
                   endpoint->order.tunnel ? " (through HTTPS_PROXY alone)" : "",
                   words[0] != '\0' ? ": " : "", words);
}

bool offer_endpoints_describe(const struct offer *offer, json_t *member)
{
    const struct policy *policy = offer->configuration->policy;
    struct offer_list list;
    json_auto_t *names = json_array();
    offer_list_begin(&list, member, OFFER_LIST_MOST, MORE_LIMIT);
    for (size_t i = 0; i < policy->endpoint_count; i++) {
        const struct policy_endpoint *endpoint = &policy->endpoints[i];
        char line[LINE_LIMIT];
        if (!is_offered(offer, endpoint))
            continue;
        write_line(endpoint, line);
        if (json_array_append_new(names, json_string(endpoint->order.name)) != 0)
            return false;
        offer_list_add(&list, line);
    }
    return offer_list_end(&list, "are not described.", member) &&
           json_object_set(json_object_get(member, "items"), "enum", names) == 0;
}
