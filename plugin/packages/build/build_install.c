/* SPDX-License-Identifier: Apache-2.0 */
/* A set on its way into the directory of all: unpacked under a name of its own, described, and then
 * renamed. Runs on the thread inside tool_prepare(). */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/remove_tree.h"
#include "base/write_fully.h"
#include "packages/build/environment_build.h"
#include "packages/package_set.h"
#include "vocabulary/language.h"

#define LOCKS_MOST 200 /* that a set remembers to have come from */

/* A set under construction. */
struct building {
    char path[PATH_MAX]; /* "": none, or it has got its name */
    int directory;
};

/* What fails leaves nothing behind. */
static void clear_building(struct building *building)
{
    close_fd(building->directory);
    if (building->path[0] != '\0')
        remove_tree(building->path);
}

static bool fail(struct error *error, const char *what, const char *path)
{
    error_set_errno(error, ERROR_ENVIRONMENT_NOT_BUILT, errno, "%s %.300s", what, path);
    return false;
}

/* Only the last directories of the path may be missing. */
static bool make_directories(const char *path, struct error *error)
{
    char part[PATH_MAX];
    if ((size_t)snprintf(part, sizeof(part), "%s", path) >= sizeof(part)) {
        errno = ENAMETOOLONG;
        return fail(error, "cannot make", path);
    }
    for (char *slash = strchr(part + 1, '/');; slash = strchr(slash + 1, '/')) {
        if (slash)
            *slash = '\0';
        if (mkdir(part, 0755) < 0 && errno != EEXIST)
            return fail(error, "cannot make", part);
        if (!slash)
            return true;
        *slash = '/';
    }
}

static bool begin(const char *all, struct building *ret, struct error *error)
{
    if (!make_directories(all, error))
        return false;
    if ((size_t)snprintf(ret->path, sizeof(ret->path), "%s/building-XXXXXX", all) >=
            sizeof(ret->path) ||
        !mkdtemp(ret->path)) {
        ret->path[0] = '\0';
        return fail(error, "cannot make a directory in", all);
    }
    ret->directory = open(ret->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return ret->directory >= 0 || fail(error, "cannot open", ret->path);
}

static bool write_json(int directory, const char *name, json_t *value, struct error *error)
{
    CLEANUP_FREE char *text = value ? json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    CLEANUP_CLOSE int fd =
        openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
    if (!text) {
        error_set(error, ERROR_OUT_OF_MEMORY, "no memory for %s", name);
        return false;
    }
    /* The host's umask may take bits away that others need for reading. */
    if (fd < 0 || fchmod(fd, 0444) < 0 || !write_fully(fd, text, strlen(text)) || fsync(fd) < 0)
        return fail(error, "cannot write", name);
    return true;
}

/* The lock files that this content has come from: this one, and those of a set that is there. */
static json_t *locks_of(const char *path, const char *lock_sha256)
{
    struct error ignored;
    json_auto_t *known = package_set_about(path, &ignored);
    const json_t *before = json_object_get(known, "locks");
    json_auto_t *locks = json_object();
    if ((json_object_size(before) > 0 && json_object_size(before) < LOCKS_MOST &&
         json_object_update(locks, (json_t *)(uintptr_t)before) != 0) ||
        json_object_set_new(locks, lock_sha256, json_true()) != 0)
        return NULL;
    return json_incref(locks);
}

static json_t *about_of(const struct configuration *configuration,
                        const struct policy_environment *environment, const char *path,
                        const char *lock_sha256, const struct build_output *output,
                        json_t *installed)
{
    return json_pack(
        "{s:i, s:s, s:s, s:s, s:s, s:o, s:O, s:O, s:O, s:b, s:I, s:O}", "version", 1, "name",
        environment->name, "language", environment_language_find(environment->language)->language,
        "mode", sandbox_mode_row(configuration->mode)->packages_for, "lock_sha256", lock_sha256,
        "locks", locks_of(path, lock_sha256), "sha256", json_object_get(installed, "sha256"),
        "bytes", json_object_get(installed, "bytes"), "files", json_object_get(installed, "files"),
        "build_scripts", environment->build_scripts, "built_at", (json_int_t)time(NULL), "runtime",
        json_object_get(output->packages, "runtime"));
}

/* Those of before too, where the set is there: the same content may come from several. */
static bool describe_images(const struct building *building, const char *path, json_t *images,
                            struct error *error)
{
    struct error ignored;
    if (!images)
        return true;
    json_auto_t *known = package_set_images(path, &ignored);
    json_auto_t *all = known ? json_incref(known) : json_object();
    json_auto_t *file =
        all && json_object_update(all, images) == 0 ? json_pack("{s:O}", "images", all) : NULL;
    return write_json(building->directory, "image.json", file, error);
}

static bool describe(const struct building *building, json_t *about, json_t *packages,
                     struct error *error)
{
    if (!about) {
        error_set(error, ERROR_ENVIRONMENT_NOT_BUILT, "the list of packages is not as expected");
        return false;
    }
    return write_json(building->directory, "environment.json", about, error) &&
           write_json(building->directory, "packages.json", packages, error);
}

/* What says of a set that stays what it was built from this time. */
static bool replace_description(const struct building *building, const char *path,
                                struct error *error)
{
    static const char *const described[] = {"environment.json", "packages.json", "image.json"};
    CLEANUP_CLOSE int there = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    for (size_t i = 0; i < COUNT_OF(described); i++)
        if (there < 0 || (renameat(building->directory, described[i], there, described[i]) < 0 &&
                          (errno != ENOENT || strcmp(described[i], "image.json") != 0)))
            return fail(error, "cannot describe", path);
    return true;
}

static bool is_whole(const struct policy_environment *environment, const char *path)
{
    struct error ignored;
    CLEANUP_CLOSE int there = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    json_auto_t *answer = there < 0 ? NULL
                                    : package_program_ask(PACKAGE_VERIFY, environment, there, -1,
                                                          ERROR_ENVIRONMENT_CHANGED, &ignored);
    const char *sha256 = json_string_value(json_object_get(answer, "sha256"));
    return sha256 && strcmp(sha256, strrchr(path, '-') + 1) == 0;
}

/* One of the same content may be there. It stays, because runs may have it, unless it is not what
 * its name says any more. */
static bool give_name(const struct policy_environment *environment, struct building *building,
                      const char *path, struct error *error)
{
    if (fchmod(building->directory, 0755) < 0 || fsync(building->directory) < 0)
        return fail(error, "cannot settle", building->path);
    if (rename(building->path, path) == 0) {
        building->path[0] = '\0';
        return true;
    }
    if (errno != EEXIST && errno != ENOTEMPTY)
        return fail(error, "cannot rename to", path);
    if (is_whole(environment, path))
        return replace_description(building, path, error);
    return renameat2(AT_FDCWD, building->path, AT_FDCWD, path, RENAME_EXCHANGE) == 0 ||
           fail(error, "cannot replace", path);
}

/* The link's new target, in one step. */
static bool point_link(const char *all, const char *link_name, const char *target,
                       struct error *error)
{
    char link_path[PATH_MAX];
    char new_path[PATH_MAX];
    if ((size_t)snprintf(link_path, sizeof(link_path), "%s/%s", all, link_name) >=
            sizeof(link_path) ||
        (size_t)snprintf(new_path, sizeof(new_path), "%s/.%s.%d", all, link_name, (int)getpid()) >=
            sizeof(new_path)) {
        errno = ENAMETOOLONG;
        return fail(error, "cannot link", link_name);
    }
    (void)unlink(new_path);
    if (symlink(target, new_path) < 0)
        return fail(error, "cannot make", new_path);
    if (rename(new_path, link_path) == 0)
        return true;
    (void)fail(error, "cannot make", link_path);
    (void)unlink(new_path);
    return false;
}

/* A set to which no link leads any more may still be a session's: build_collect() counts from now
 * on. */
static void note_time(const char *all, const char *link_name)
{
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof(path), "%s/%s", all, link_name) < sizeof(path))
        (void)utimensat(AT_FDCWD, path, NULL, 0);
}

static bool settle(const struct configuration *configuration,
                   const struct policy_environment *environment, const char *path,
                   struct building *building, struct error *error)
{
    const char *all = configuration->policy->environments_directory;
    char link_name[NAME_MAX + 1];
    if (!package_set_link_name(environment, configuration->mode, link_name, sizeof(link_name))) {
        errno = ENAMETOOLONG;
        return fail(error, "cannot link", environment->name);
    }
    if (!give_name(environment, building, path, error))
        return false;
    note_time(all, link_name);
    if (!point_link(all, link_name, strrchr(path, '/') + 1, error))
        return false;
    CLEANUP_CLOSE int directory = open(all, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return (directory >= 0 && fsync(directory) == 0) || fail(error, "cannot settle", all);
}

bool build_install(const struct configuration *configuration,
                   const struct policy_environment *environment, const char *lock_sha256,
                   const struct build_output *output, struct error *error)
{
    CLEANUP(clear_building) struct building building = {.directory = -1};
    if (!begin(configuration->policy->environments_directory, &building, error))
        return false;
    json_auto_t *installed =
        package_program_ask(PACKAGE_INSTALL, environment, building.directory, output->archive,
                            ERROR_ENVIRONMENT_NOT_BUILT, error);
    if (!installed)
        return false;
    const char *sha256 = json_string_value(json_object_get(installed, "sha256"));
    if (!sha256 || strlen(sha256) != SHA256_HEX_LENGTH) {
        error_set(error, ERROR_BACKEND_FAILED, "code-execute-environment has told no hash");
        return false;
    }
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof(path), "%s/sha256-%s",
                         configuration->policy->environments_directory, sha256) >= sizeof(path)) {
        errno = ENAMETOOLONG;
        return fail(error, "cannot name", sha256);
    }
    json_auto_t *about = about_of(configuration, environment, path, lock_sha256, output, installed);
    return describe(&building, about, output->packages, error) &&
           describe_images(&building, path, output->images, error) &&
           settle(configuration, environment, path, &building, error);
}
