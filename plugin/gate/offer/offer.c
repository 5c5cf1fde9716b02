/* SPDX-License-Identifier: Apache-2.0 */
/* The input schema as far as policy, host and context allow. Runs in the gateway, on the thread
 * inside tool_invoke(), tool_status() or tool_prepare(). */
#include "gate/offer/offer.h"

#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "gate/offer/offer_endpoints.h"
#include "gate/offer/offer_packages.h"
#include "gate/offer/offer_tools.h"
#include "request/input_schema.h"
#include "request/request_fields.h"
#include "vocabulary/capability.h"

static const struct policy *policy_of(const struct offer *offer)
{
    return offer->configuration->policy;
}

bool offer_grants(const struct offer *offer, enum capability capability, const char *parameter)
{
    return capability_list_grants(policy_of(offer)->capabilities, capability, parameter) &&
           (!offer->narrowing ||
            narrowing_leaves_capability(offer->narrowing, capability, parameter)) &&
           (!offer->host || capability_list_grants(offer->host, capability, parameter));
}

static bool offers_network(const struct offer *offer)
{
    return policy_of(offer)->network_allowed &&
           sandbox_mode_row(offer->configuration->mode)->network &&
           offer_grants(offer, CAPABILITY_NETWORK, NULL) &&
           (!offer->narrowing || narrowing_leaves_network(offer->narrowing));
}

/* A list that grants single secrets names them. */
static bool grants_one_of(const struct offer *offer, char *const *list)
{
    const char *name = capability_name(CAPABILITY_SECRETS);
    size_t length = strlen(name);
    for (; list && *list; list++)
        if (strncmp(*list, name, length) == 0 && (*list)[length] == '=' &&
            offer_grants(offer, CAPABILITY_SECRETS, *list + length + 1))
            return true;
    return false;
}

static bool offers_secrets(const struct offer *offer)
{
    for (char *const *secret = policy_of(offer)->secrets; secret && *secret; secret++) {
        if (strcmp(*secret, "*") != 0 && offer_grants(offer, CAPABILITY_SECRETS, *secret))
            return true;
        if (strcmp(*secret, "*") == 0 &&
            (offer_grants(offer, CAPABILITY_SECRETS, NULL) ||
             grants_one_of(offer, policy_of(offer)->capabilities) ||
             grants_one_of(offer, offer->host) ||
             (offer->narrowing && grants_one_of(offer, offer->narrowing->capabilities))))
            return true;
    }
    return false;
}

static bool has_images(const struct offer *offer)
{
    return sandbox_mode_row(offer->configuration->mode)->has_images;
}

/* Those that a request may name, with NULL at the end; new. */
static char **images_of(const struct offer *offer)
{
    const struct policy *policy = policy_of(offer);
    enum sandbox_mode mode = offer->configuration->mode;
    const struct policy_images *of_mode = &policy->images[mode];
    CLEANUP(cleanup_string_list) char **images = string_list_new(0);
    if (!has_images(offer) || !offer_grants(offer, CAPABILITY_IMAGE, NULL))
        return TAKE_POINTER(images);
    for (size_t i = 0; i < of_mode->count; i++) {
        const char *name = of_mode->by_language[i].name;
        if (policy_image_is_settled(policy, mode, name) && !string_list_contains(images, name) &&
            !string_list_append(&images, name))
            return NULL;
    }
    for (char *const *name = of_mode->offered; name && *name; name++)
        if (policy_image_is_settled(policy, mode, *name) && !string_list_contains(images, *name) &&
            !string_list_append(&images, *name))
            return NULL;
    return TAKE_POINTER(images);
}

static bool offers_image(const struct offer *offer)
{
    CLEANUP(cleanup_string_list) char **images = images_of(offer);
    return string_list_count(images) > 0;
}

/* Where there are images, one without an image of its own runs only where a request may name one.
 */
static bool offers_language(const struct offer *offer, const char *name)
{
    const struct policy *policy = policy_of(offer);
    if (offer->narrowing && !narrowing_leaves_language(offer->narrowing, name))
        return false;
    if (!has_images(offer) || offers_image(offer))
        return true;
    enum sandbox_mode mode = offer->configuration->mode;
    const struct policy_image *image = policy_find_image(policy, mode, name);
    return image && policy_image_is_settled(policy, mode, image->name);
}

static bool offers_tools(const struct offer *offer)
{
    if (!sandbox_mode_row(offer->configuration->mode)->tool_runners)
        return false;
    if (offer->tools)
        return offer_tools_has_some(offer);
    return policy_of(offer)->tools.allowed[0] && offer_grants(offer, CAPABILITY_TOOLS, NULL);
}

/* They need no capability of their own: an environment gives code, and no right. */
static bool is_packages(const struct request_field *field)
{
    return strcmp(field->name, "packages") == 0;
}

static bool offers_member(const struct offer *offer, const struct request_field *field)
{
    switch (field->capability) {
    case CAPABILITY_EXEC:
        return !is_packages(field) || offer_packages_has_some(offer);
    case CAPABILITY_LIMITS_EXTENDED: /* less time can be asked for without it */
        return true;
    case CAPABILITY_NETWORK:
        return offers_network(offer);
    case CAPABILITY_SECRETS:
        return offers_secrets(offer);
    case CAPABILITY_ENDPOINTS:
        return offer_endpoints_has_some(offer);
    case CAPABILITY_IMAGE:
        return offers_image(offer);
    case CAPABILITY_SESSION:
        return policy_of(offer)->sessions.max_total > 0 &&
               sandbox_mode_row(offer->configuration->mode)->session_runners != 0 &&
               offer_grants(offer, CAPABILITY_SESSION, NULL);
    case CAPABILITY_TOOLS:
        return offers_tools(offer);
    case CAPABILITY_FILES:
    case CAPABILITY_MODE_NONE:
    case CAPABILITY_MODE_UNPRIVILEGED:
    case CAPABILITY_COUNT:
        break;
    }
    return offer_grants(offer, field->capability, NULL);
}

/* Writes default and ceiling of a member that asks for a limit, of all languages that are offered.
 */
static bool offer_limit(const struct offer *offer, const struct request_field *field,
                        json_t *schema)
{
    const struct policy *policy = policy_of(offer);
    const struct policy_limit_row *row = policy_limit_find(field->policy_limit);
    bool extended = offer_grants(offer, CAPABILITY_LIMITS_EXTENDED, NULL);
    uint64_t least_usual = UINT64_MAX;
    uint64_t most_usual = 0;
    uint64_t maximum = 0;
    for (size_t i = 0; i < policy->language_count; i++) {
        const struct policy_limits *of_language = &policy->languages[i].limits;
        if (!offers_language(offer, policy->languages[i].name))
            continue;
        struct policy_limits limits =
            offer->narrowing ? narrowing_limits(offer->narrowing, of_language) : *of_language;
        const struct policy_limit *limit = policy_limit_at(&limits, row);
        uint64_t usual = limit->default_value;
        uint64_t most = extended ? limit->maximum : usual;
        least_usual = usual < least_usual ? usual : least_usual;
        most_usual = usual > most_usual ? usual : most_usual;
        maximum = most > maximum ? most : maximum;
    }
    return maximum == 0 ||
           input_schema_offer_limit(schema, field, least_usual, most_usual, maximum);
}

void offer_languages(const struct offer *offer, char *ret, size_t size)
{
    const struct policy *policy = policy_of(offer);
    ret[0] = '\0';
    for (size_t i = 0; i < policy->language_count; i++)
        if (offers_language(offer, policy->languages[i].name))
            text_add_name(ret, size, policy->languages[i].name);
}

void offer_images(const struct offer *offer, char *ret, size_t size)
{
    CLEANUP(cleanup_string_list) char **images = images_of(offer);
    ret[0] = '\0';
    for (size_t i = 0; i < string_list_count(images); i++)
        text_add_name(ret, size, images[i]);
}

void offer_members(const struct offer *offer, char *ret, size_t size)
{
    size_t count = 0;
    const struct request_field *fields = request_fields(&count);
    ret[0] = '\0';
    for (size_t i = 0; i < count; i++)
        if (offers_member(offer, &fields[i]))
            text_add_name(ret, size, fields[i].name);
}

/* An empty list would be no schema: clients refuse it. */
static bool name_languages(const struct offer *offer, json_t *schema)
{
    const struct policy *policy = policy_of(offer);
    json_auto_t *names = json_array();
    for (int asked = 1; asked >= 0 && json_array_size(names) == 0; asked--)
        for (size_t i = 0; i < policy->language_count; i++) {
            const char *name = policy->languages[i].name;
            if ((asked == 0 || offers_language(offer, name)) &&
                json_array_append_new(names, json_string(name)) != 0)
                return false;
        }
    return input_schema_offer_languages(schema, names);
}

static bool name_images(const struct offer *offer, json_t *schema)
{
    CLEANUP(cleanup_string_list) char **images = images_of(offer);
    json_auto_t *names = json_array();
    for (size_t i = 0; i < string_list_count(images); i++)
        if (json_array_append_new(names, json_string(images[i])) != 0)
            return false;
    return images && json_array_append_new(names, json_null()) == 0 &&
           json_object_set(schema, "enum", names) == 0;
}

json_t *offer_input_schema(const struct offer *offer)
{
    size_t count = 0;
    const struct request_field *fields = request_fields(&count);
    json_auto_t *schema = input_schema();
    json_t *properties = json_object_get(schema, "properties");
    for (size_t i = 0; i < count; i++) {
        if (!offers_member(offer, &fields[i]))
            (void)json_object_del(properties, fields[i].name);
        else if (fields[i].policy_limit && !offer_limit(offer, &fields[i], schema))
            return NULL;
    }
    json_t *image = json_object_get(properties, "image");
    json_t *endpoints = json_object_get(properties, "endpoints");
    json_t *packages = json_object_get(properties, "packages");
    json_t *tools = offer->tools ? json_object_get(properties, "tools") : NULL;
    if (!name_languages(offer, schema) || (image && !name_images(offer, image)) ||
        (endpoints && !offer_endpoints_describe(offer, endpoints)) ||
        (packages && !offer_packages_describe(offer, packages)) ||
        (tools && !offer_tools_describe(offer, tools)))
        return NULL;
    return TAKE_POINTER(schema);
}
