/* SPDX-License-Identifier: Apache-2.0 */
/* The environments in the words for a model: see offer_packages.h. Runs in the gateway, on the
 * thread inside tool_invoke(), tool_status() or tool_prepare(). */
#include "gate/offer/offer_packages.h"

#include <stdio.h>
#include <string.h>

#include "gate/offer/offer_list.h"
#include "vocabulary/language.h"

#define LINE_LIMIT 640 /* a name, a language, a description, and what is between them */
#define MORE_LIMIT 64  /* of the line for those that do not fit */

static bool is_offered(const struct offer *offer, const struct policy_environment *environment)
{
    const struct policy *policy = offer->configuration->policy;
    const char *language = environment_language_find(environment->language)->language;
    return sandbox_mode_row(offer->configuration->mode)->packages_for &&
           policy_find_language(policy, language) &&
           (!offer->narrowing || narrowing_leaves_language(offer->narrowing, language));
}

bool offer_packages_has_some(const struct offer *offer)
{
    const struct policy *policy = offer->configuration->policy;
    for (size_t i = 0; i < policy->environment_count; i++)
        if (is_offered(offer, &policy->environments[i]))
            return true;
    return false;
}

static void write_line(const struct policy_environment *environment, char ret[LINE_LIMIT])
{
    const char *words = environment->description;
    (void)snprintf(ret, LINE_LIMIT, "\n- %s (%s)%s%s", environment->name,
                   environment_language_find(environment->language)->language,
                   words[0] != '\0' ? ": " : "", words);
}

bool offer_packages_describe(const struct offer *offer, json_t *member)
{
    const struct policy *policy = offer->configuration->policy;
    struct offer_list list;
    json_auto_t *names = json_array();
    offer_list_begin(&list, member, OFFER_LIST_MOST, MORE_LIMIT);
    for (size_t i = 0; i < policy->environment_count; i++) {
        const struct policy_environment *environment = &policy->environments[i];
        char line[LINE_LIMIT];
        if (!is_offered(offer, environment))
            continue;
        write_line(environment, line);
        if (json_array_append_new(names, json_string(environment->name)) != 0)
            return false;
        offer_list_add(&list, line);
    }
    return offer_list_end(&list, "are not described.", member) &&
           json_array_append_new(names, json_null()) == 0 &&
           json_object_set(member, "enum", names) == 0;
}
