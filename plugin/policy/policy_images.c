/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy's images: reading them from the section of a mode that has images, and looking them
 * up. Pure code; runs in the gateway on the calling thread.
 */
#include <stddef.h>
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

/* What the members are read into. */
struct section {
    struct policy_images images;
    const struct policy *policy; /* its languages */
};
_Static_assert(offsetof(struct section, images) == 0, "one address");

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

static bool read_image_for_all(const struct json_place *place, json_t *value,
                               struct section *section)
{
    const struct policy *policy = section->policy;
    struct policy_images *images = &section->images;
    images->by_language = calloc(policy->language_count + 1, sizeof(*images->by_language));
    if (!images->by_language)
        return json_place_out_of_memory(place);
    for (size_t i = 0; i < policy->language_count; i++) {
        struct policy_image *image = &images->by_language[images->count++];
        if (!json_copy_text(place, policy->languages[i].name, &image->language) ||
            !read_image(place, value, image, section))
            return false;
    }
    return true;
}

#undef AT
#define AT(member) .offset = offsetof(struct section, images.member)

static const struct json_items by_language = {
    .size = sizeof(struct policy_image),
    .count = offsetof(struct section, images.count),
    .name = offsetof(struct policy_image, language),
    .check_name = policy_check_language,
    .members = image_members,
    .read = read_image,
};

static bool read_images(const struct json_place *place, json_t *value, void *object)
{
    static const struct json_member map = {"images", &member_map, AT(by_language),
                                           .maximum = POLICY_LIST_LIMIT, .items = &by_language};
    struct section *section = object;
    if (json_is_string(value))
        return read_image_for_all(place, value, section);
    return member_map.read(place, value, &map, &section->images.by_language);
}

static const struct json_member members[] = {
    {"images", &member_map, AT(by_language), .maximum = POLICY_LIST_LIMIT, .items = &by_language,
     .read = read_images},
    {"offered", &policy_strings, AT(offered), .optional = true, .check = check_image},
    {0},
};

static const struct json_member fetching_members[] = {
    {"require_digest", &member_boolean, AT(require_digest)},
    {"pull", &member_choice, AT(pull), .names = pulls},
    {0},
};

static bool read_all(const struct json_place *place, json_t *value,
                     const struct json_member *member, void *object)
{
    bool is_good = true;
    for (; is_good && member->name; member++)
        is_good = json_read_member(place, value, member, object);
    return is_good;
}

bool policy_read_images(const struct json_place *place, json_t *value, enum sandbox_mode mode,
                        struct policy *policy)
{
    struct section section = {.images = policy->images[mode], .policy = policy};
    bool is_good = read_all(place, value, members, &section);
    policy->images[mode] = section.images;
    return is_good;
}

bool policy_read_fetching(const struct json_place *place, json_t *value, enum sandbox_mode mode,
                          struct policy *policy)
{
    return read_all(place, value, fetching_members, &policy->images[mode]);
}

void policy_images_clear(struct policy_images *images)
{
    json_clear_members(members, images);
}

const struct policy_image *policy_find_image(const struct policy *policy, enum sandbox_mode mode,
                                             const char *language)
{
    const struct policy_images *images = &policy->images[mode];
    for (size_t i = 0; i < images->count; i++) {
        if (strcmp(images->by_language[i].language, language) == 0)
            return &images->by_language[i];
    }
    return NULL;
}

bool policy_offers_image(const struct policy *policy, enum sandbox_mode mode, const char *image)
{
    const struct policy_images *images = &policy->images[mode];
    for (size_t i = 0; i < images->count; i++) {
        if (strcmp(images->by_language[i].name, image) == 0)
            return true;
    }
    return string_list_contains(images->offered, image);
}

/* Behind "@", or the whole name where it is an image's id; NULL: none. */
static const char *digest_of(const char *image)
{
    static const char prefix[] = "sha256:";
    const char *at = strrchr(image, '@');
    const char *digest = at ? at + 1 : image;
    return strncmp(digest, prefix, strlen(prefix)) == 0 ? digest + strlen(prefix) : NULL;
}

bool policy_image_is_settled(const struct policy *policy, enum sandbox_mode mode, const char *image)
{
    const char *digest = digest_of(image);
    if (!digest)
        return !policy->images[mode].require_digest;
    char first[2] = {digest[0], '\0'};
    return ascii_is_hex(digest, DIGEST_LENGTH) && strspn(digest, first) != DIGEST_LENGTH;
}
