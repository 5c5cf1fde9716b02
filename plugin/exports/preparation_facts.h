/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a language's interpreter is prepared for runs: is it copied, without which modules, and if
 * not, why, with a remedy. The answer comes from preparing it.
 */
#pragma once

#include <jansson.h>

#include "run/describe.h"

#include "gate/plan.h"

/* New: for programs that name no module, and for those with each word of the policy's
 * "import_named". null where nothing is copied in that mode, or for that language. NULL: no memory.
 * Takes as long as the preparation does, a minute at most. */
json_t *preparation_facts(const struct trial_subject *subject);
