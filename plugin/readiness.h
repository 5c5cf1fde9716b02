/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Can a call of this mode and language run at all on this machine? Found out by doing it: a trial
 * run applies every layer and looks the runtime up, so that an approver is never asked for what
 * cannot run. A success is remembered as long as the policy and the backends stay; a failure is
 * tried again. Any thread.
 */
#pragma once

#include <stdbool.h>

#include "error.h"
#include "policy.h"
#include "protocol/run_event.h"

/* false with SANDBOX_UNAVAILABLE, RUNTIME_NOT_FOUND, BACKEND_UNAVAILABLE, BACKEND_FAILED, or
 * CANCELLED when cancel_fd
 * (-1: none) became readable meanwhile. */
bool readiness_check(const struct policy *policy, enum sandbox_mode mode,
                     const struct policy_language *language, bool network, int cancel_fd,
                     struct error *error);

/* The trial itself, not remembered: true when the backend reported an end (*ret), whatever it says.
 * language NULL: the layers alone. */
bool readiness_trial(const struct policy *policy, enum sandbox_mode mode,
                     const struct policy_language *language, bool network, int cancel_fd,
                     struct run_event *ret, struct error *error);

/* Turns the end of a run that did not start into the error for it, with a hint that names this
 * host's remedy. */
void readiness_explain(const struct run_event *ended, const struct policy_language *language,
                       struct error *error);

/* Forgets what was found out, for tool_shutdown() and new configurations. */
void readiness_forget(void);
