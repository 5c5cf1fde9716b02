/* SPDX-License-Identifier: Apache-2.0 */
/* Taking away what nobody needs any more, from the directory of all sets. Runs on the thread inside
 * tool_prepare(). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/remove_tree.h"
#include "base/string_list.h"
#include "packages/build/environment_build.h"

#define LEFTOVER_S 86400 /* after which nobody builds there any more */

static void close_directory(DIR **stream)
{
    if (*stream)
        (void)closedir(*stream);
}

static DIR *open_all(const struct policy *policy, struct error *error)
{
    DIR *stream = opendir(policy->environments_directory);
    if (!stream)
        error_set_errno(error, ERROR_ENVIRONMENT_CHANGED, errno, "cannot read %.300s",
                        policy->environments_directory);
    return stream;
}

/* Every set that a link leads to, of this policy or another one. */
static bool list_targets(DIR *all, char ***ret)
{
    struct dirent *entry;
    while ((entry = readdir(all))) {
        char target[PATH_MAX];
        ssize_t length = readlinkat(dirfd(all), entry->d_name, target, sizeof(target) - 1);
        if (length < 0)
            continue;
        target[length] = '\0';
        if (!string_list_append(ret, target))
            return false;
    }
    rewinddir(all);
    return true;
}

static bool begins_with(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* A session of the policy may have begun with it just before its link was moved. */
static int64_t kept_for_s(const struct policy *policy)
{
    return (int64_t)((policy->sessions.age_ms + policy->limits.wall_ms.maximum) / 1000) + 1;
}

static bool is_old(int all, const char *name, int64_t age_s)
{
    struct stat status;
    return fstatat(all, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode) &&
           (int64_t)time(NULL) - status.st_mtim.tv_sec >= age_s;
}

static bool is_wanted(const struct policy *policy, int all, char *const *targets, const char *name)
{
    if (begins_with(name, "building-"))
        return !is_old(all, name, LEFTOVER_S);
    if (!begins_with(name, "sha256-"))
        return true;
    return string_list_contains(targets, name) || !is_old(all, name, kept_for_s(policy));
}

static bool take_away(const struct policy *policy, const char *name, json_t *taken)
{
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof(path), "%s/%s", policy->environments_directory, name) >=
        sizeof(path))
        return true;
    remove_tree(path);
    return access(path, F_OK) == 0 || json_array_append_new(taken, json_string(name)) == 0;
}

json_t *build_collect(const struct policy *policy, struct error *error)
{
    CLEANUP(close_directory) DIR *all = open_all(policy, error);
    CLEANUP(cleanup_string_list) char **targets = string_list_new(0);
    json_auto_t *taken = json_array();
    bool kept_up = all && targets && taken && list_targets(all, &targets);
    struct dirent *entry;
    if (!all)
        return NULL;
    while (kept_up && (entry = readdir(all)))
        if (!is_wanted(policy, dirfd(all), targets, entry->d_name))
            kept_up = take_away(policy, entry->d_name, taken);
    if (kept_up)
        return json_incref(taken);
    error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the list of environments");
    return NULL;
}
