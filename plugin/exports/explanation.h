/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explains what would happen to a request under a policy, and which rule decides. Asks nobody,
 * starts and runs nothing. Any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "policy/configuration.h"

/* A hypothetical request; all borrowed. */
struct explanation_subject {
    const char *tool;         /* NULL: code_execute */
    const char *input_json;   /* as tool_invoke() would get it */
    const char *context_json; /* as a host would give it; NULL: none */
};

/* A new object with "outcome" (allow, ask, deny) and the reasons, see docs/abi.md. NULL: out of
 * memory. */
json_t *explanation_json(const struct configuration *configuration,
                         const struct explanation_subject *subject);
