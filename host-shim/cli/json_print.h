/* SPDX-License-Identifier: Apache-2.0 */
/* Prints JSON for people and programs alike: indented, one line break at its end. Main thread. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/failure.h"

bool json_print(int out, const json_t *value, struct failure *failure);
