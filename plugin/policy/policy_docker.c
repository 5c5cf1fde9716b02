/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy's docker section: which engine, which images, which runtime; reading it and looking
 * images up. Pure code; runs in the gateway on the calling thread.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "policy/policy_parse.h"

#define DIGEST_LENGTH 64 /* hexadecimal digits of a SHA-256 */

/* The backend decides whether it can be used. Here it only must have no blank and no control
 * character. */
static bool read_host(const struct json_place *place, const json_t *value, char **ret)
{
    const char *host;
    if (!value)
        return true;
    if (!json_read_string(place, value, 1, RUN_HOST_LIMIT, &host))
        return false;
    for (const char *c = host; *c != '\0'; c++) {
        if (*c <= ' ' || *c >= 0x7F)
            return json_place_refuse(place, "must be printable ASCII without blanks");
    }
    return policy_copy_text(place, host, ret);
}

static bool read_name(const struct json_place *place, const json_t *value, char **ret)
{
    const char *name;
    if (!value)
        return true;
    if (!json_read_string(place, value, 1, RUN_NAME_LIMIT, &name))
        return false;
    if (!policy_is_plain_name(name, "._+-"))
        return json_place_refuse(place, "must be letters, digits and any of ._+-");
    return policy_copy_text(place, name, ret);
}

static bool read_directory(const struct json_place *place, const json_t *value, char **ret)
{
    const char *path;
    if (!value)
        return true;
    return json_read_string(place, value, 1, POLICY_STRING_LIMIT, &path) &&
           policy_check_path(place, path) && policy_copy_text(place, path, ret);
}

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
static struct policy_image *add_image(struct policy_docker *docker)
{
    return &docker->images[docker->image_count++];
}

static bool read_images_by_language(const struct json_place *place, json_t *value,
                                    struct policy_docker *docker)
{
    docker->images = calloc(json_object_size(value) + 1, sizeof(*docker->images));
    if (!docker->images)
        return json_place_out_of_memory(place);
    for (void *at = json_object_iter(value); at; at = json_object_iter_next(value, at)) {
        const char *language = json_object_iter_key(at);
        struct json_place image_place = json_place_named(place, language);
        struct policy_image *image = add_image(docker);
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
    struct policy_docker *docker = &policy->docker;
    docker->images = calloc(policy->language_count + 1, sizeof(*docker->images));
    if (!docker->images)
        return json_place_out_of_memory(place);
    for (size_t i = 0; i < policy->language_count; i++) {
        struct policy_image *image = add_image(docker);
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
    return json_read_object(place, value) && read_images_by_language(place, value, &policy->docker);
}

bool policy_parse_docker(const struct json_place *place, json_t *value, struct policy *policy)
{
    static const char *const members[] = {"host",           "context", "certificates",
                                          "require_digest", "pull",    "runtime",
                                          "images",         "offered", NULL};
    struct policy_docker *docker = &policy->docker;
    struct json_place host = json_place_named(place, "host");
    struct json_place context = json_place_named(place, "context");
    struct json_place certificates = json_place_named(place, "certificates");
    struct json_place digest = json_place_named(place, "require_digest");
    struct json_place pull = json_place_named(place, "pull");
    struct json_place runtime = json_place_named(place, "runtime");
    struct json_place images = json_place_named(place, "images");
    struct json_place offered = json_place_named(place, "offered");
    return json_read_known_members(place, value, members) &&
           read_host(&host, json_object_get(value, "host"), &docker->host) &&
           read_name(&context, json_object_get(value, "context"), &docker->context) &&
           read_directory(&certificates, json_object_get(value, "certificates"),
                          &docker->certificates) &&
           json_read_boolean(&digest, json_object_get(value, "require_digest"),
                             &docker->require_digest) &&
           read_pull(&pull, json_object_get(value, "pull"), &docker->pull) &&
           read_name(&runtime, json_object_get(value, "runtime"), &docker->runtime) &&
           read_images(&images, json_object_get(value, "images"), policy) &&
           policy_read_optional_strings(&offered, json_object_get(value, "offered"), check_image,
                                        &docker->offered);
}

void policy_docker_clear(struct policy_docker *docker)
{
    free(docker->host);
    free(docker->context);
    free(docker->config_directory);
    free(docker->certificates);
    free(docker->runtime);
    for (size_t i = 0; i < docker->image_count; i++) {
        free(docker->images[i].language);
        free(docker->images[i].name);
        string_list_free(docker->images[i].argv);
    }
    free(docker->images);
    string_list_free(docker->offered);
}

const struct policy_image *policy_find_image(const struct policy *policy, const char *language)
{
    for (size_t i = 0; i < policy->docker.image_count; i++) {
        if (strcmp(policy->docker.images[i].language, language) == 0)
            return &policy->docker.images[i];
    }
    return NULL;
}

bool policy_offers_image(const struct policy *policy, const char *image)
{
    for (size_t i = 0; i < policy->docker.image_count; i++) {
        if (strcmp(policy->docker.images[i].name, image) == 0)
            return true;
    }
    return string_list_contains(policy->docker.offered, image);
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
        return !policy->docker.require_digest;
    char first[2] = {digest[0], '\0'};
    return strlen(digest) == DIGEST_LENGTH && strspn(digest, "0123456789abcdef") == DIGEST_LENGTH &&
           strspn(digest, first) != DIGEST_LENGTH;
}
