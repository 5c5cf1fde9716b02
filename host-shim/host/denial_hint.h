/* SPDX-License-Identifier: Apache-2.0 */
/* Says by which option of toolhost what was denied is granted. On the thread of a call. */
#pragma once

#include <jansson.h>

#include "host/host_callbacks.h"

/* Adds to the hint of a result with "access_denied" for a capability that these grants denied; NULL
 * and all other results stay as they are. */
void denial_hint_add(const struct grants *grants, json_t *result);
