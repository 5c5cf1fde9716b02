/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Can a call of this mode and language run at all on this machine? A trial run answers it: it
 * applies every layer, shows the workspace and looks up the runtime, so that an approver is never
 * asked about a call that cannot run. In a mode with images the trial also fetches a missing image,
 * where the policy lets it, and settles which image the name stands for. A success is remembered as
 * long as the policy and the backends stay; a failure is tried again. Any thread.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "protocol/run_event.h"
#include "run/describe.h"
#include "tool_provider.h"

#define IMAGE_ID_SIZE sizeof(((struct run_event *)0)->image_id)

/* The receiver of a trial's progress. */
struct trial_watcher {
    const struct tool_host *host; /* gets the progress of a fetch */
    int cancel_fd;                /* ends the trial when it becomes readable; -1: none */
};

/* true with the id of the image in a mode with images ("" in others); false with
 * SANDBOX_UNAVAILABLE, RUNTIME_NOT_FOUND, BACKEND_UNAVAILABLE, BACKEND_FAILED or CANCELLED. */
bool readiness_check(const struct trial_subject *subject, const struct trial_watcher *watcher,
                     char ret_image_id[IMAGE_ID_SIZE], struct error *error);

/* Would readiness_check() know without a trial? */
bool readiness_is_known(const struct trial_subject *subject);

/* The trial itself, not remembered: true when the backend reported an end (*ret), of any kind. */
bool readiness_trial(const struct trial_subject *subject, const struct trial_watcher *watcher,
                     struct run_event *ret, struct error *error);

/* Has runs like those of the subject's language prepared, of programs that name that word (NULL:
 * none); *ret has the outcome so far. For modes that prepare interpreters. */
bool readiness_prepare(const struct trial_subject *subject, const char *word, struct run_event *ret,
                       struct error *error);

/* Has the mode's backend remove what dead gateways left behind; *ret has the counts, or why it
 * could not. */
bool readiness_sweep(const struct policy *policy, enum sandbox_mode mode, struct run_event *ret,
                     struct error *error);

/* Turns the end of a run that did not start into the error for it, with a hint that names this
 * host's remedy. image is the one it was to run in, NULL in modes without images. */
void readiness_explain(const struct run_event *ended, enum sandbox_mode mode,
                       const struct policy_language *language, const char *image,
                       struct error *error);

/* Forgets all results, for tool_shutdown(), new configurations, and an engine that has changed. */
void readiness_forget(void);

/* In a child of fork(): its own backend tries anew. Takes no lock. */
void readiness_after_fork(void);
