/* SPDX-License-Identifier: Apache-2.0 */
/* Values of JavaScript out of those of C. Main thread of the interpreter. */
#pragma once

#include "interpreter/node/node_api.h"

/* NULL: it cannot be had. */
napi_value node_array_of(napi_env environment, char *const *strings);
