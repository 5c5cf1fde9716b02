/* SPDX-License-Identifier: Apache-2.0 */
/* Judging the workspace. Runs in the gateway, on the thread inside tool_invoke(). */
#include "workspace.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cleanup.h"

static bool is_below(const char *path, const char *directory)
{
    size_t length = strlen(directory);
    return strncmp(path, directory, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

static bool is_allowed(const struct policy *policy, const char *path)
{
    for (char **directory = policy->workspaces; *directory != NULL; directory++)
        if (is_below(path, *directory))
            return true;
    return false;
}

/* A path that leads through a link, or through "..", could lead elsewhere by the time it is
 * mounted. */
static bool is_resolved_directory(const char *path)
{
    CLEANUP_FREE char *resolved = realpath(path, NULL);
    struct stat status;
    return resolved != NULL && strcmp(resolved, path) == 0 && stat(path, &status) == 0 &&
           S_ISDIR(status.st_mode);
}

bool workspace_check(const struct policy *policy, enum sandbox_mode mode, const char *workspace,
                     struct error *error)
{
    if (workspace == NULL)
        return true;
    if (mode == SANDBOX_MODE_NONE) {
        error_set(error, ERROR_NOT_SUPPORTED,
                  "context: /workspace: mode none has no view to show "
                  "it in");
        return false;
    }
    if (!is_allowed(policy, workspace)) {
        error_set(error, ERROR_POLICY_DENIED, "policy denied: workspace %.200s", workspace);
        error_set_hint(error, "the operator allows workspaces below the directories of the "
                              "policy's \"workspace.below\"");
        return false;
    }
    if (!is_resolved_directory(workspace)) {
        error_set(error, ERROR_INVALID_INPUT,
                  "context: /workspace: %.200s is no directory, or its path is not the resolved "
                  "one (no links, no \"..\")",
                  workspace);
        error_set_hint(error, "this is the gateway's context_json, not the request");
        return false;
    }
    return true;
}
