/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory of a gateway's workspace that a program may read at RUN_WORKSPACE. It comes from
 * the host's context, never from the model, and only from below a directory of the policy. Looks at
 * the file system; runs in the gateway, on the thread inside tool_invoke().
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "policy/policy.h"
#include "protocol/directory.h"

/* The directory that was checked: it stays open for as long as the call goes on, so that no other
 * directory can get its number meanwhile. */
struct workspace {
    int fd; /* -1: none */
    struct directory_id id;
};

#define WORKSPACE_NONE \
    {                  \
        .fd = -1       \
    }

/* path NULL: none. Else fills *ret (workspace_close()), which a workspace that was checked before
 * stays. false with NOT_SUPPORTED, with POLICY_DENIED, or with INVALID_INPUT where the path is not
 * absolute and resolved, or leads to no directory. */
bool workspace_check(const struct policy *policy, enum sandbox_mode mode, const char *path,
                     struct workspace *ret, struct error *error);
void workspace_close(struct workspace *workspace);
