/* SPDX-License-Identifier: Apache-2.0 */
/* Words hints by what is offered. */
#include "gate/offer/offer_hint.h"

#include <string.h>

#include "base/cleanup.h"
#include "call/context.h"
#include "gate/offer/offer.h"
#include "request/request.h"

#define NAMES_LIMIT 320

/* By capability; one that the host does not grant has no entry. */
struct host_grants {
    char names[CAPABILITY_COUNT][CAPABILITY_TEXT_SIZE];
    char *list[CAPABILITY_COUNT + 1];
};

/* NULL: there is no host, as where a policy is asked about. */
static char *const *ask_host(const struct call *call, struct host_grants *grants)
{
    size_t count = 0;
    if (call->host_mistake != HOST_SOUND)
        return NULL;
    for (int i = 0; i < CAPABILITY_COUNT; i++) {
        const char *name = capability_name((enum capability)i);
        if (!host_grants_capability(&call->host, name))
            continue;
        capability_text((enum capability)i, NULL, grants->names[count]);
        grants->list[count] = grants->names[count];
        count++;
    }
    grants->list[count] = NULL;
    return grants->list;
}

static void hint_members(const struct offer *offer, struct error *error)
{
    char names[NAMES_LIMIT];
    offer_members(offer, names, sizeof(names));
    error_set_hint(error, "the members are: %s", names);
}

static void hint_languages(const struct offer *offer, const char *operators_part,
                           struct error *error)
{
    char names[NAMES_LIMIT];
    offer_languages(offer, names, sizeof(names));
    const char *join = operators_part ? ", or ask the operator to " : "";
    const char *rest = operators_part ? operators_part : "";
    if (names[0] != '\0')
        error_set_hint(error, "use one of: %s%s%s", names, join, rest);
    else if (operators_part)
        error_set_hint(error, "ask the operator to %s", operators_part);
    else
        error_set_hint(error, "this caller may use no language; ask the gateway's operator");
}

void offer_hint_input(const struct call *call, struct error *error)
{
    CLEANUP(configuration_clear) struct configuration current = {0};
    const struct configuration *configuration = &call->configuration;
    CLEANUP(context_clear) struct call_context context = {0};
    struct host_grants grants;
    struct error ignored;
    bool of_members = request_lists_members(error->hint);
    if (!of_members && error->code != ERROR_UNKNOWN_LANGUAGE)
        return;
    if (!configuration->policy) {
        if (!configuration_current(&current, &ignored))
            return; /* the next call is refused for that */
        configuration = &current;
    }
    if (!context_parse(call->host.context_json, &context, &ignored))
        return; /* and so it is for this */
    const struct offer offer = {configuration, &context.narrowing, ask_host(call, &grants),
                                &context.tools};
    if (of_members)
        hint_members(&offer, error);
    else
        hint_languages(&offer, NULL, error);
}

void offer_hint_language(const struct call *call, const char *operators_part, struct error *error)
{
    /* Only an image makes a difference, so elsewhere the host is not asked. */
    bool ask = sandbox_mode_row(call->configuration.mode)->has_images;
    struct host_grants grants;
    const struct offer offer = {&call->configuration, &call->context.narrowing,
                                ask ? ask_host(call, &grants) : NULL, &call->context.tools};
    hint_languages(&offer, operators_part, error);
}

void offer_hint_image(const struct call *call, bool language_has_its_own, struct error *error)
{
    char names[NAMES_LIMIT];
    char add_image[80];
    struct host_grants grants;
    const struct offer offer = {&call->configuration, &call->context.narrowing,
                                ask_host(call, &grants), &call->context.tools};
    (void)snprintf(add_image, sizeof(add_image),
                   "add an image for this one to the policy's \"%s.images\"",
                   sandbox_mode_name(call->configuration.mode));
    offer_images(&offer, names, sizeof(names));
    if (names[0] != '\0')
        error_set_hint(error, "%suse one of: %s",
                       language_has_its_own ? "leave image out, or " : "", names);
    else if (language_has_its_own)
        error_set_hint(error, "leave image out");
    else
        offer_hint_language(call, add_image, error);
}
