/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy's images: reading them from the section of a mode that has images, and looking them
 * up. Pure code; runs in the gateway on the calling thread.
 */
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/string_list.h"
#include "policy/policy_parse.h"

#define DIGEST_LENGTH 64 /* hexadecimal digits of a SHA-256 */

static bool check_image(const struct json_place *place, const char *image)
{
    if (strlen(image) > RUN_IMAGE_LIMIT)
        return json_place_refuse(place, "must be at most %d bytes", RUN_IMAGE_LIMIT);
    return policy_is_plain_name(image, "._-/:@") ||
           json_place_refuse(place, "must be an image's name, with tag or digest");
}

static const char *const pulls[] = {
    [RUN_PULL_NEVER] = "never", [RUN_PULL_MISSING] = "missing", [RUN_PULL_ALWAYS] = "always", NULL};

#define AT(member) .offset = offsetof(struct policy_image, member)

static const struct json_member image_members[] = {
    {"image", &member_text, AT(name), 1, RUN_IMAGE_LIMIT, .check = check_image},
    {"argv", &policy_argv, AT(argv), .optional = true},
    {0},
};

/* "NAME", or {"image": NAME, "argv": [...]} where its interpreter has another name in it. */
static bool read_image(const struct json_place *place, json_t *value, void *item, void *object)
{
    struct policy_image *image = item;
    (void)object;
    if (json_is_string(value))
        return member_text.read(place, value, &image_members[0], &image->name);
    if (!json_is_object(value))
        return json_place_refuse(place, "must be an image's name, or an object with \"image\"");
    return json_read_members(place, value, image_members, image);
}

static bool read_image_for_all(const struct json_place *place, json_t *value, struct policy *policy)
{
    struct policy_images *images = &policy->images;
    images->by_language = calloc(policy->language_count + 1, sizeof(*images->by_language));
    if (!images->by_language)
        return json_place_out_of_memory(place);
    for (size_t i = 0; i < policy->language_count; i++) {
        struct policy_image *image = &images->by_language[images->count++];
        if (!json_copy_text(place, policy->languages[i].name, &image->language) ||
            !read_image(place, value, image, policy))
            return false;
    }
    return true;
}

#undef AT
#define AT(member) .offset = offsetof(struct policy, images.member)

static const struct json_items by_language = {
    .size = sizeof(struct policy_image),
    .count = offsetof(struct policy, images.count),
    .name = offsetof(struct policy_image, language),
    .check_name = policy_check_language,
    .members = image_members,
    .read = read_image,
};

static bool read_images(const struct json_place *place, json_t *value, void *object)
{
    static const struct json_member map = {"images", &member_map, AT(by_language),
                                           .maximum = POLICY_LIST_LIMIT, .items = &by_language};
    struct policy *policy = object;
    if (json_is_string(value))
        return read_image_for_all(place, value, policy);
    return member_map.read(place, value, &map, &policy->images.by_language);
}

const struct json_member policy_images_members[] = {
    {"require_digest", &member_boolean, AT(require_digest)},
    {"pull", &member_choice, AT(pull), .names = pulls},
    {"images", &member_map, AT(by_language), .maximum = POLICY_LIST_LIMIT, .items = &by_language,
     .read = read_images},
    {"offered", &policy_strings, AT(offered), .optional = true, .check = check_image},
    {0},
};

bool policy_read_images(const struct json_place *place, json_t *value, struct policy *policy)
{
    for (const struct json_member *member = policy_images_members; member->name; member++)
        if (!json_read_member(place, value, member, policy))
            return false;
    return true;
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
    return ascii_is_hex(digest, DIGEST_LENGTH) && strspn(digest, first) != DIGEST_LENGTH;
}
