/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy's languages (how each is run in process mode) and docker section. Pure code; runs in
 * the gateway on the calling thread.
 */
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "environment.h"
#include "policy_parse.h"
#include "string_list.h"

#define FILE_NAME_LIMIT    64
#define PACKAGE_NAME_LIMIT 128
#define IMAGE_LIMIT        255
#define FILE_PLACEHOLDER   "{file}"

/* Letters, digits and the given others, not beginning with "." or "-". */
static bool is_plain_name(const char *name, const char *others)
{
    static const char alphanumeric[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    if (name[0] == '.' || name[0] == '-')
        return false;
    while (*name != '\0') {
        if (strchr(alphanumeric, *name) == NULL && strchr(others, *name) == NULL)
            return false;
        name++;
    }
    return true;
}

static bool read_name(const struct json_place *place, const json_t *value, size_t limit,
                      const char *others, char **ret)
{
    const char *name;
    if (!json_read_string(place, value, 1, limit, &name))
        return false;
    if (!is_plain_name(name, others))
        return json_place_refuse(place, "must be letters, digits and any of %s", others);
    *ret = copy_bytes(name, strlen(name));
    return *ret != NULL || json_place_out_of_memory(place);
}

static bool read_argv(const struct json_place *place, json_t *value, char ***ret)
{
    if (!policy_read_strings(place, value, 1, NULL, ret))
        return false;
    if (!string_list_contains(*ret + 1, FILE_PLACEHOLDER))
        return json_place_refuse(place, "no argument is \"" FILE_PLACEHOLDER "\"");
    return true;
}

static bool read_optional_environment(const struct json_place *place, json_t *value, char ***ret)
{
    if (value != NULL)
        return environment_read(place, value, POLICY_LIST_LIMIT, POLICY_STRING_LIMIT, ret);
    *ret = string_list_new(0);
    return *ret != NULL || json_place_out_of_memory(place);
}

static bool read_optional_paths(const struct json_place *place, json_t *value, char ***ret)
{
    if (value != NULL)
        return policy_read_strings(place, value, 0, policy_check_view_path, ret);
    *ret = string_list_new(0);
    return *ret != NULL || json_place_out_of_memory(place);
}

static bool parse_language(const struct json_place *place, const char *name, json_t *value,
                           struct policy_language *language)
{
    static const char *const members[] = {"argv",        "file",      "package",
                                          "environment", "read_only", NULL};
    if (!policy_check_language(place, name) || !json_read_known_members(place, value, members))
        return false;
    language->name = copy_bytes(name, strlen(name));
    if (language->name == NULL)
        return json_place_out_of_memory(place);
    struct json_place argv = json_place_named(place, "argv");
    struct json_place file = json_place_named(place, "file");
    struct json_place package = json_place_named(place, "package");
    struct json_place environment = json_place_named(place, "environment");
    struct json_place read_only = json_place_named(place, "read_only");
    return read_argv(&argv, json_object_get(value, "argv"), &language->argv) &&
           read_name(&file, json_object_get(value, "file"), FILE_NAME_LIMIT, "._-",
                     &language->file) &&
           read_name(&package, json_object_get(value, "package"), PACKAGE_NAME_LIMIT, ".+-",
                     &language->package) &&
           read_optional_environment(&environment, json_object_get(value, "environment"),
                                     &language->environment) &&
           read_optional_paths(&read_only, json_object_get(value, "read_only"),
                               &language->read_only);
}

bool policy_parse_languages(const struct json_place *place, json_t *value, struct policy *policy)
{
    const char *name;
    size_t length;
    json_t *member;

    if (!json_read_object(place, value))
        return false;
    policy->languages = calloc(json_object_size(value) + 1, sizeof(*policy->languages));
    if (policy->languages == NULL)
        return json_place_out_of_memory(place);
    json_object_keylen_foreach(value, name, length, member)
    {
        struct json_place language_place = json_place_member(place, name, length);
        policy->language_count++; /* first: a half-read one is the policy's to free */
        if (!parse_language(&language_place, name, member,
                            &policy->languages[policy->language_count - 1]))
            return false;
    }
    return true;
}

static bool check_image(const struct json_place *place, const json_t *value)
{
    const char *image;
    if (!json_read_string(place, value, 1, IMAGE_LIMIT, &image))
        return false;
    return is_plain_name(image, "._-/:@") ||
           json_place_refuse(place, "must be an image's name, with tag or digest");
}

/* Whether it can be used is the backend's to say; here it is only no blank and no control
 * character.
 */
static bool read_host(const struct json_place *place, const json_t *value, struct policy *policy)
{
    const char *host;
    if (value == NULL)
        return true;
    if (!json_read_string(place, value, 1, RUN_ENGINE_LIMIT, &host))
        return false;
    for (const char *c = host; *c != '\0'; c++) {
        if (*c <= ' ' || *c >= 0x7F)
            return json_place_refuse(place, "must be printable ASCII without blanks");
    }
    policy->docker_host = copy_bytes(host, strlen(host));
    return policy->docker_host != NULL || json_place_out_of_memory(place);
}

static bool read_images(const struct json_place *place, json_t *value, struct policy *policy)
{
    const char *language;
    size_t length;
    json_t *image;

    if (!json_read_object(place, value))
        return false;
    policy->images = calloc(json_object_size(value) + 1, sizeof(*policy->images));
    if (policy->images == NULL)
        return json_place_out_of_memory(place);
    json_object_keylen_foreach(value, language, length, image)
    {
        struct json_place image_place = json_place_member(place, language, length);
        if (!policy_check_language(&image_place, language) || !check_image(&image_place, image))
            return false;
        struct policy_image *entry = &policy->images[policy->image_count++];
        entry->language = copy_bytes(language, length);
        entry->name = copy_bytes(json_string_value(image), json_string_length(image));
        if (entry->language == NULL || entry->name == NULL)
            return json_place_out_of_memory(place);
    }
    return true;
}

bool policy_parse_docker(const struct json_place *place, json_t *value, struct policy *policy)
{
    static const char *const members[] = {"host", "require_digest", "images", NULL};
    struct json_place host = json_place_named(place, "host");
    struct json_place digest = json_place_named(place, "require_digest");
    struct json_place images = json_place_named(place, "images");
    return json_read_known_members(place, value, members) &&
           read_host(&host, json_object_get(value, "host"), policy) &&
           json_read_boolean(&digest, json_object_get(value, "require_digest"),
                             &policy->docker_require_digest) &&
           read_images(&images, json_object_get(value, "images"), policy);
}
