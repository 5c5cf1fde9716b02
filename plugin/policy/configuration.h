/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which policy and which mode are in force: from tool_prepare(), else from the environment
 * (CODE_EXEC_POLICY, a path; CODE_EXEC_SANDBOX, a mode), read once at first use, else built in. A
 * new configuration replaces the old one whole or not at all; a call keeps the one it began with.
 * Any thread.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "policy/policy.h"

struct configuration {
    struct policy *policy; /* a reference */
    enum sandbox_mode mode;
};

/* The one in force; *ret is the caller's (configuration_clear()). false with INVALID_POLICY,
 * UNKNOWN_MODE or MODE_NOT_ALLOWED where the environment's cannot be used; it is tried again the
 * next time. */
bool configuration_current(struct configuration *ret, struct error *error);

/* Puts one in force from tool_prepare()'s JSON (NULL: read the environment again). false with
 * error, and the one before stays; where there was none, every call is refused with this error
 * until a good one comes: a refused configuration of the host is never replaced by a default.
 * *ret_sweep: it also asks to remove the leftovers of dead gateways. */
bool configuration_prepare(const char *config_json, bool *ret_sweep, struct error *error);

/* The one that tool_prepare() would put in force with these (NULL: not given), as a reference of
 * the caller's; the one in force stays. */
bool configuration_load(const char *policy_file, const char *sandbox, struct configuration *ret,
                        struct error *error);

/* For the row of a mode (add_environment): takes a variable of the environment into *text, where
 * the policy has left it empty. false with the error: it is longer than limit bytes. */
bool configuration_take_variable(const char *name, size_t limit, char **text, struct error *error);

void configuration_clear(struct configuration *configuration);

/* Forgets it, for tool_shutdown(). */
void configuration_forget(void);

/* In a child of fork(): the parent's configuration stays in force. Where a thread of the parent was
 * changing it, every call is refused until tool_prepare() has brought one. Waits for no lock. */
void configuration_after_fork(void);
