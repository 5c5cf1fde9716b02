/* SPDX-License-Identifier: Apache-2.0 */
/* Finding and checking sets of packages: see package_set.h. */
#include "packages/package_set.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/trusted_file.h"
#include "vocabulary/language.h"
#include "json/json_input.h"

#define SET_PREFIX     "sha256-"
#define LOCK_LIMIT     (UINT32_C(8) << 20) /* bytes of a lock file */
#define ABOUT_LIMIT    (UINT32_C(64) << 10)
#define PACKAGES_LIMIT (UINT32_C(8) << 20)

void package_set_clear(struct package_set *set)
{
    free(set->name);
    free(set->directory);
    free(set->content);
    json_decref(set->images);
    *set = (struct package_set){0};
}

bool package_set_copy(const struct package_set *set, struct package_set *ret)
{
    CLEANUP(package_set_clear)
    struct package_set copy = {
        .name = strdup(set->name),
        .directory = strdup(set->directory),
        .content = strdup(set->content),
        .images = json_deep_copy(set->images),
    };
    if (!copy.name || !copy.directory || !copy.content || (set->images && !copy.images))
        return false;
    memcpy(copy.sha256, set->sha256, sizeof(copy.sha256));
    *ret = copy;
    copy = (struct package_set){0};
    return true;
}

/* The whole file; new, with a NUL behind it. */
static char *read_file(const char *kind, const char *path, size_t limit, size_t *ret_length,
                       struct error *error)
{
    CLEANUP_CLOSE int fd = trusted_file_open(kind, path, ERROR_ENVIRONMENT_CHANGED, error);
    if (fd < 0)
        return NULL;
    CLEANUP_FREE char *text = malloc(limit + 1);
    if (!text) {
        error_set(error, ERROR_OUT_OF_MEMORY, "no memory for a file of an environment");
        return NULL;
    }
    ssize_t length = trusted_file_read(fd, text, limit + 1);
    if (length < 0 || (size_t)length > limit) {
        error_set_errno(error, ERROR_ENVIRONMENT_CHANGED, length < 0 ? errno : 0, "%s %.200s: %s",
                        kind, path, length < 0 ? "cannot be read" : "is too long");
        return NULL;
    }
    text[length] = '\0';
    *ret_length = (size_t)length;
    return TAKE_POINTER(text);
}

bool package_set_read_lock(const struct policy_environment *environment,
                           char ret[SHA256_HEX_LENGTH + 1], char **ret_text, size_t *ret_length,
                           struct error *error)
{
    size_t length;
    CLEANUP_FREE char *text = read_file("lock file", environment->lock, LOCK_LIMIT, &length, error);
    if (!text)
        return false;
    sha256_hex(text, length, ret);
    if (ret_text) {
        *ret_text = TAKE_POINTER(text);
        *ret_length = length;
    }
    return true;
}

static json_t *read_json(const char *directory, const char *name, size_t limit, struct error *error)
{
    const struct json_input_limits limits = {.max_bytes = limit, .max_depth = 6};
    char path[PATH_MAX];
    size_t length;
    if (snprintf(path, sizeof(path), "%s/%s", directory, name) >= (int)sizeof(path)) {
        error_set(error, ERROR_ENVIRONMENT_CHANGED, "environment: the path is too long");
        return NULL;
    }
    CLEANUP_FREE char *text = read_file("environment", path, limit, &length, error);
    return text ? json_input_parse(name, text, length, &limits, ERROR_ENVIRONMENT_CHANGED, error)
                : NULL;
}

json_t *package_set_about(const char *directory, struct error *error)
{
    return read_json(directory, "environment.json", ABOUT_LIMIT, error);
}

json_t *package_set_packages(const char *directory, struct error *error)
{
    return read_json(directory, "packages.json", PACKAGES_LIMIT, error);
}

json_t *package_set_images(const char *directory, struct error *error)
{
    json_auto_t *file = read_json(directory, "image.json", ABOUT_LIMIT, error);
    json_t *images = json_object_get(file, "images");
    if (file && !json_is_object(images))
        error_set(error, ERROR_ENVIRONMENT_CHANGED, "%.300s/image.json names no images", directory);
    return json_is_object(images) ? json_incref(images) : NULL;
}

bool package_set_link_name(const struct policy_environment *environment, enum sandbox_mode mode,
                           char *ret, size_t size)
{
    int length =
        snprintf(ret, size, "%s.%s", environment->name, sandbox_mode_row(mode)->packages_for);
    return length >= 0 && (size_t)length < size;
}

static bool refuse(const struct policy_environment *environment, struct error *error,
                   const char *why)
{
    error_set(error, ERROR_ENVIRONMENT_CHANGED, "the environment \"%s\" %s", environment->name,
              why);
    error_set_hint(error, "leave packages out, or ask the operator to run: toolhost env build %s",
                   environment->name);
    return false;
}

bool package_set_fits_image(const struct policy_environment *environment,
                            const struct package_set *set, const char *image_id,
                            struct error *error)
{
    return !set->images || json_object_get(set->images, image_id) ||
           refuse(environment, error, "was built in another image than the run's");
}

/* The interpreter that it was built for is the image's. */
static bool find_images(const struct policy_environment *environment, enum sandbox_mode mode,
                        struct package_set *set, struct error *error)
{
    if (!sandbox_mode_row(mode)->packages_in_image)
        return true;
    set->images = package_set_images(set->directory, error);
    if (set->images)
        return true;
    error_add_context(error, "the environment \"%s\"", environment->name);
    return false;
}

static bool is_set_name(const char *name)
{
    size_t length = strlen(SET_PREFIX);
    return strncmp(name, SET_PREFIX, length) == 0 && ascii_is_hex(name + length, SHA256_HEX_LENGTH);
}

/* What the last build has made. */
static bool follow_link(const struct policy *policy, const struct policy_environment *environment,
                        enum sandbox_mode mode, char ret[SHA256_HEX_LENGTH + 8],
                        struct error *error)
{
    char name[NAME_MAX + 1];
    char link[PATH_MAX];
    if (!package_set_link_name(environment, mode, name, sizeof(name)) ||
        snprintf(link, sizeof(link), "%s/%s", policy->environments_directory, name) >=
            (int)sizeof(link))
        return refuse(environment, error, "has a path that is too long");
    ssize_t length = readlink(link, ret, SHA256_HEX_LENGTH + 8);
    if (length < 0 && errno == ENOENT)
        return refuse(environment, error, "was not built, or is not there any more");
    if (length < 0 || length >= SHA256_HEX_LENGTH + 8)
        return refuse(environment, error, "has a link that cannot be read");
    ret[length] = '\0';
    return is_set_name(ret) || refuse(environment, error, "has a link to something else");
}

static bool fill(const struct policy *policy, const struct policy_environment *environment,
                 const char *set_name, struct package_set *ret)
{
    memcpy(ret->sha256, set_name + strlen(SET_PREFIX), sizeof(ret->sha256));
    ret->name = strdup(environment->name);
    return ret->name &&
           asprintf(&ret->directory, "%s/%s", policy->environments_directory, set_name) >= 0 &&
           asprintf(&ret->content, "%s/content", ret->directory) >= 0;
}

static bool has_text(const json_t *about, const char *member, const char *text)
{
    const char *value = json_string_value(json_object_get(about, member));
    return value && strcmp(value, text) == 0;
}

/* Does what it was built from still hold? */
static bool check_origin(const struct policy_environment *environment,
                         const struct package_set *set, struct error *error)
{
    const char *language = environment_language_find(environment->language)->language;
    char lock[SHA256_HEX_LENGTH + 1];
    json_auto_t *about = package_set_about(set->directory, error);
    if (!about || !package_set_read_lock(environment, lock, NULL, NULL, error)) {
        error_add_context(error, "the environment \"%s\"", environment->name);
        return false;
    }
    if (!has_text(about, "sha256", set->sha256) || !has_text(about, "language", language))
        return refuse(environment, error, "is not what was built under that name");
    if (!json_object_get(json_object_get(about, "locks"), lock))
        return refuse(environment, error, "was built from another lock file");
    return environment->sha256[0] == '\0' || strcmp(environment->sha256, set->sha256) == 0 ||
           refuse(environment, error, "is not the one whose \"sha256\" the policy names");
}

bool package_set_find(const struct policy *policy, const struct policy_environment *environment,
                      enum sandbox_mode mode, struct package_set *ret, struct error *error)
{
    char set_name[SHA256_HEX_LENGTH + 8];
    CLEANUP(package_set_clear) struct package_set set = {0};
    if (!follow_link(policy, environment, mode, set_name, error))
        return false;
    if (!fill(policy, environment, set_name, &set)) {
        error_set(error, ERROR_OUT_OF_MEMORY, "no memory for an environment");
        return false;
    }
    if (!check_origin(environment, &set, error) || !find_images(environment, mode, &set, error) ||
        !package_check(environment, &set, error))
        return false;
    *ret = set;
    set = (struct package_set){0};
    return true;
}
