/* SPDX-License-Identifier: Apache-2.0 */
/* Judging the workspace. Runs in the gateway, on the thread inside tool_invoke(). */
#include "call/workspace.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/path_form.h"

static bool is_allowed(const struct policy *policy, const char *path)
{
    for (char **directory = policy->workspaces; *directory; directory++)
        if (path_is_within(path, *directory))
            return true;
    return false;
}

/* An engine has nothing but bind mounts for it, through which a program would reach the machine's
 * sockets. On another machine there is another directory of that path, or none. */
static bool refuse_mode(const struct policy *policy, enum sandbox_mode mode, struct error *error)
{
    const char *machine = sandbox_mode_row(mode)->machine;
    if (machine)
        error_set(error, ERROR_NOT_SUPPORTED,
                  "context: /workspace: it is a directory of the gateway's machine, and programs "
                  "in mode %s run on %s",
                  sandbox_mode_name(mode), machine);
    else
        error_set(error, ERROR_NOT_SUPPORTED,
                  "context: /workspace: mode %s cannot show it without the machine's sockets and "
                  "FIFOs",
                  sandbox_mode_name(mode));
    error_set_hint(error, "the gateway can leave workspace out of its context_json%s",
                   machine ? ", and hand files over by \"files\" of the request" : "");
    for (int i = 0; i < SANDBOX_MODE_COUNT; i++) {
        const struct sandbox_mode_row *other = sandbox_mode_row((enum sandbox_mode)i);
        if (policy->mode_allowed[i] && other->shows_workspace)
            error_set_hint(
                error, "the gateway can use %s mode, or leave workspace out of its context_json",
                other->name);
    }
    return false;
}

bool workspace_check(const struct policy *policy, enum sandbox_mode mode, const char *path,
                     struct workspace *ret, struct error *error)
{
    if (!path || ret->fd >= 0)
        return true;
    if (!sandbox_mode_row(mode)->shows_workspace)
        return refuse_mode(policy, mode, error);
    if (!is_allowed(policy, path)) {
        error_set(error, ERROR_POLICY_DENIED, "policy denied: workspace %.200s", path);
        error_set_hint(error, "the operator allows workspaces below the directories of the "
                              "policy's \"workspace.below\"");
        return false;
    }
    /* Without a link on its way the path that was compared above is the directory's own. */
    ret->fd = directory_open(path, &ret->id);
    if (ret->fd >= 0)
        return true;
    error_set(error, ERROR_INVALID_INPUT,
              "context: /workspace: %.200s is not a directory, or its path is not resolved: it "
              "must have no links and no \"..\"",
              path);
    error_set_hint(error, "this is the gateway's context_json, not the request");
    return false;
}

void workspace_close(struct workspace *workspace)
{
    close_fd(TAKE_FD(workspace->fd));
}
