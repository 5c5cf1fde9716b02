/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy's images: reading them from the section of a mode that has images, and looking them
 * up. Pure code; runs in the gateway on the calling thread.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "policy/policy_parse.h"

#define DIGEST_LENGTH 64 /* hexadecimal digits of a SHA-256 */

static bool read_pull(const struct json_place *place, const json_t *value, enum run_pull *ret)
{
    static const char *const names[] = {
        [RUN_PULL_NEVER] = "never", [RUN_PULL_MISSING] = "missing", [RUN_PULL_ALWAYS] = "always"};
    const char *name;
    size_t choice;
    if (!json_read_string(place, value, 1, 16, &name))
        return false;
    if (!policy_choose(name, names, COUNT_OF(names), &choice))
        return json_place_refuse(place, "must be never, missing or always");
    *ret = (enum run_pull)choice;
    return true;
}

static bool check_image(const struct json_place *place, const char *image)
{
    if (strlen(image) > RUN_IMAGE_LIMIT)
        return json_place_refuse(place, "must be at most %d bytes", RUN_IMAGE_LIMIT);
    if (policy_is_plain_name(image, "._-/:@"))
        return true;
    return json_place_refuse(place, "must be an image's name, with tag or digest");
}

static bool read_image_name(const struct json_place *place, const json_t *value, char **ret)
{
    const char *image;
    return json_read_string(place, value, 1, RUN_IMAGE_LIMIT, &image) &&
           check_image(place, image) && policy_copy_text(place, image, ret);
}

/* "NAME", or {"image": NAME, "argv": [...]} where its interpreter has another name in it. */
static bool read_image(const struct json_place *place, json_t *value, struct policy_image *image)
{
    static const char *const members[] = {"image", "argv", NULL};
    if (json_typeof(value) == JSON_STRING)
        return read_image_name(place, value, &image->name);
    if (json_typeof(value) != JSON_OBJECT)
        return json_place_refuse(place, "must be an image's name, or an object with \"image\"");
    struct json_place name = json_place_named(place, "image");
    struct json_place argv = json_place_named(place, "argv");
    json_t *command = json_object_get(value, "argv");
    return json_read_known_members(place, value, members) &&
           read_image_name(&name, json_object_get(value, "image"), &image->name) &&
           (!command || policy_read_argv(&argv, command, &image->argv));
}

/* The next entry of the list, counted first: a half-read one is the policy's to free. */
static struct policy_image *add_image(struct policy_images *images)
{
    return &images->by_language[images->count++];
}

static bool read_images_by_language(const struct json_place *place, json_t *value,
                                    struct policy_images *images)
{
    images->by_language = calloc(json_object_size(value) + 1, sizeof(*images->by_language));
    if (!images->by_language)
        return json_place_out_of_memory(place);
    for (void *at = json_object_iter(value); at; at = json_object_iter_next(value, at)) {
        const char *language = json_object_iter_key(at);
        struct json_place image_place = json_place_named(place, language);
        struct policy_image *image = add_image(images);
        if (!policy_check_language(&image_place, language) ||
            !policy_copy_text(&image_place, language, &image->language) ||
            !read_image(&image_place, json_object_iter_value(at), image))
            return false;
    }
    return true;
}

static bool read_image_for_all(const struct json_place *place, const json_t *value,
                               struct policy *policy)
{
    struct policy_images *images = &policy->images;
    images->by_language = calloc(policy->language_count + 1, sizeof(*images->by_language));
    if (!images->by_language)
        return json_place_out_of_memory(place);
    for (size_t i = 0; i < policy->language_count; i++) {
        struct policy_image *image = add_image(images);
        if (!policy_copy_text(place, policy->languages[i].name, &image->language) ||
            !read_image_name(place, value, &image->name))
            return false;
    }
    return true;
}

static bool read_images(const struct json_place *place, json_t *value, struct policy *policy)
{
    if (json_is_string(value))
        return read_image_for_all(place, value, policy);
    return json_read_object(place, value) && read_images_by_language(place, value, &policy->images);
}

bool policy_read_images(const struct json_place *place, json_t *value, struct policy *policy)
{
    struct policy_images *images = &policy->images;
    struct json_place digest = json_place_named(place, "require_digest");
    struct json_place pull = json_place_named(place, "pull");
    struct json_place by_language = json_place_named(place, "images");
    struct json_place offered = json_place_named(place, "offered");
    return json_read_boolean(&digest, json_object_get(value, "require_digest"),
                             &images->require_digest) &&
           read_pull(&pull, json_object_get(value, "pull"), &images->pull) &&
           read_images(&by_language, json_object_get(value, "images"), policy) &&
           policy_read_optional_strings(&offered, json_object_get(value, "offered"), check_image,
                                        &images->offered);
}

void policy_images_clear(struct policy_images *images)
{
    for (size_t i = 0; i < images->count; i++) {
        free(images->by_language[i].language);
        free(images->by_language[i].name);
        string_list_free(images->by_language[i].argv);
    }
    free(images->by_language);
    string_list_free(images->offered);
}

const struct policy_image *policy_find_image(const struct policy *policy, const char *language)
{
    for (size_t i = 0; i < policy->images.count; i++) {
        if (strcmp(policy->images.by_language[i].language, language) == 0)
            return &policy->images.by_language[i];
    }
    return NULL;
}

bool policy_offers_image(const struct policy *policy, const char *image)
{
    for (size_t i = 0; i < policy->images.count; i++) {
        if (strcmp(policy->images.by_language[i].name, image) == 0)
            return true;
    }
    return string_list_contains(policy->images.offered, image);
}

/* Behind "@", or the whole name where it is an image's id; NULL: none. */
static const char *digest_of(const char *image)
{
    static const char prefix[] = "sha256:";
    const char *at = strrchr(image, '@');
    const char *digest = at ? at + 1 : image;
    return strncmp(digest, prefix, strlen(prefix)) == 0 ? digest + strlen(prefix) : NULL;
}

bool policy_image_is_settled(const struct policy *policy, const char *image)
{
    const char *digest = digest_of(image);
    if (!digest)
        return !policy->images.require_digest;
    char first[2] = {digest[0], '\0'};
    return strlen(digest) == DIGEST_LENGTH && strspn(digest, "0123456789abcdef") == DIGEST_LENGTH &&
           strspn(digest, first) != DIGEST_LENGTH;
}
