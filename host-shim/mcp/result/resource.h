/* SPDX-License-Identifier: Apache-2.0 */
/* A kept file as resources/read gives it. Any thread. */
#pragma once

#include <jansson.h>

#include "files/artifact_store.h"

/* "contents", new: text where the file is one, else Base64. NULL fills the failure: there is none
 * of that URI (any more), or it is too large for a message. */
json_t *resource_contents(const struct artifact_store *artifacts, const char *uri,
                          struct failure *failure);
