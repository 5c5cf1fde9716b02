/* SPDX-License-Identifier: Apache-2.0 */
/* Reading an engine's answer: the JSON that was asked for, or why it is not there. Runs in the
 * docker backend. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "backends/docker/engine/engine_http.h"

/* The answer's JSON object (new) where the status is the expected one; else NULL with the fault:
 * the engine of that name ("": docker) refused to do what. creating: to make a container, which
 * podman's API has no way to say as it is asked here. */
json_t *engine_answer_take(const struct engine_answer *answer, long expected, const char *name,
                           bool creating, const char *what, struct engine_fault *fault);
/* An answer that says no, in the engine's words. */
void engine_answer_refusal(const struct engine_answer *answer, const char *name, bool creating,
                           const char *what, struct engine_fault *fault);
