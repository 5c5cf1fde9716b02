/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes of a language's interpreter that runs are to find ready: is it copied, without which
 * modules, and if not, why, and what can be done. Found out by having it prepared.
 */
#pragma once

#include <jansson.h>

#include "run/describe.h"

#include "gate/plan.h"

/* New: for programs that name no module, and for those with each word of the policy's
 * "import_named". null where nothing is copied in that mode, or for that language. NULL: no memory.
 * Takes as long as the preparation does, a minute at most. */
json_t *preparation_facts(const struct trial_subject *subject);
