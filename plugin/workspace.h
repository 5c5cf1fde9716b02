/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory of a gateway's workspace that a program may read at RUN_WORKSPACE. It comes from
 * the host's context, never from the model, and only from below a directory of the policy. Looks at
 * the file system; runs in the gateway, on the thread inside tool_invoke().
 */
#pragma once

#include <stdbool.h>

#include "error.h"
#include "policy.h"

/* true for NULL (none) and for a directory that may be shown. false with POLICY_DENIED, or with
 * INVALID_INPUT where the path is not absolute and resolved, or no directory. */
bool workspace_check(const struct policy *policy, enum sandbox_mode mode, const char *workspace,
                     struct error *error);
